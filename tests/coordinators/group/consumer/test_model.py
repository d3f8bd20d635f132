"""Any sequence of heartbeats, leaves, topics, commits, crashes: a partition has one owner, state equals a replay."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from coordinators.group.consumer.protocol import write_assignment
from coordinators.group.requests import JoinAnswer, OffsetToCommit
from engine.errors import BrokerError, FencedInstanceId, UnknownMemberId
from tests.coordinators.group.classic_consumer import ClassicConsumer
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, places, settle, topic_id

NAMES = st.sampled_from(["a", "b", "c", "d"])
TOPICS = st.sampled_from(["t", "u", "v"])


class ConsumerGroupModel(RuleBasedStateMachine):
    """Members that behave, in a world that does not."""

    def __init__(self) -> None:
        super().__init__()
        self.shard = ConsumerShard()
        self.members: dict[str, Consumer] = {}
        # Static members that said that they will be back.
        self.away: dict[str, Consumer] = {}
        # Members of the classic protocol: the group passes from one to the other as they come and go.
        self.classic: dict[str, ClassicConsumer] = {}

    @rule(name=TOPICS, more=st.integers(1, 3))
    def make_topic(self, name: str, more: int) -> None:
        existing = self.shard.topics.by_name.get(name)
        self.shard.topic(name, more + (0 if existing is None else existing.partition_count))

    @rule(name=TOPICS)
    def delete_topic(self, name: str) -> None:
        if name in self.shard.topics.by_name:
            self.shard.delete_topic(name)

    @rule(name=NAMES, topics=st.frozensets(TOPICS), by_regex=st.booleans(), static=st.booleans())
    def join(self, name: str, topics: frozenset[str], by_regex: bool, static: bool) -> None:
        options: dict[str, Any] = {"instance_id": f"i-{name}"} if static else {}
        if by_regex:
            options["regex"] = "|".join(sorted(topics)) or "none"
        member = Consumer(self.shard, name, () if by_regex else tuple(topics), options)
        if not isinstance(member.join(), BrokerError):
            self.members[name] = member
            self.away.pop(name, None)

    @rule(name=NAMES, times=st.integers(1, 3))
    def beat(self, name: str, times: int) -> None:
        member = self.members.get(name)
        for _ in range(times if member is not None else 0):
            assert member is not None
            if isinstance(member.beat(), BrokerError):
                member.join()

    @rule(name=NAMES, will_be_back=st.booleans())
    def leave(self, name: str, will_be_back: bool) -> None:
        member = self.members.pop(name, None)
        if member is None:
            return
        if will_be_back and "instance_id" in member.options:
            member.leave(-2)
            self.away[name] = member
        else:
            member.leave()

    @rule(name=NAMES, static=st.booleans())
    def join_classic(self, name: str, static: bool) -> None:
        """A static one may take the place of one of the new protocol."""
        member = self.classic.setdefault(name, ClassicConsumer(self.shard, f"i-{name}" if static else None))
        self._join_classic(member)

    def _join_classic(self, member: ClassicConsumer) -> None:
        joined = member.join().message
        if isinstance(joined, UnknownMemberId | FencedInstanceId):
            member.member_id, member.owned = "", frozenset()
            joined = member.join().message
        if isinstance(joined, JoinAnswer):
            # A leader gives all of it to itself.
            everything = write_assignment({"t": frozenset(range(3))}, 1)
            member.sync({member.member_id: everything} if joined.leader == member.member_id else None)

    @rule(name=NAMES)
    def beat_classic(self, name: str) -> None:
        member = self.classic.get(name)
        if member is None or not member.member_id:
            return
        try:
            member.beat()
        except BrokerError:
            self._join_classic(member)

    @rule(name=NAMES)
    def leave_classic(self, name: str) -> None:
        member = self.classic.pop(name, None)
        if member is not None and member.member_id:
            member.leave()
            self.shard.advance(1)

    @rule(name=NAMES)
    def commit(self, name: str) -> None:
        member = self.members.get(name)
        for topic, partition in places(member.owned) if member is not None else ():
            assert member is not None
            if topic in self.shard.topics.by_id:
                offset = OffsetToCommit(self.shard.topics.by_id[topic].name, partition, 1, topic_id=topic)
                self.shard.commit(offset, member_id=member.member_id, generation=member.epoch)

    @rule(duration_ms=st.integers(1, 70_000))
    def advance(self, duration_ms: int) -> None:
        self.shard.advance(duration_ms)

    @rule()
    def crash(self) -> None:
        self.shard.crash()

    @rule()
    def forget_the_group(self) -> None:
        self.shard.ask(lambda machine: machine.commits.delete_group("g"))

    @rule()
    def settle_down(self) -> None:
        """Left to themselves, and once all are back, members get all partitions that they want, each one once."""
        for member in self.classic.values():
            if member.member_id:
                member.leave()
        self.classic.clear()
        self.shard.advance(1)
        self.members |= self.away
        self.away.clear()
        living = [each for each in self.members.values() if not isinstance(each.join(), BrokerError)]
        if not living or "g" not in self.shard.machine.consumers.groups:
            return
        settle(*living, rounds=30)
        group, by_name = self.shard.group, self.shard.topics.by_name
        owned = [place for member in group.members.values() for place in member.holds()]
        wanted = {name for member in group.members.values() for name in group.topics_of(member)} & by_name.keys()
        everything = {(topic_id(name), index) for name in wanted for index in range(by_name[name].partition_count)}
        assert len(owned) == len(set(owned))
        assert set(owned) == everything

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        machine = self.shard.machine
        assert not machine.groups.keys() & machine.consumers.groups.keys(), "a group of both protocols"
        for group in machine.consumers.groups.values():
            held = [place for member in group.members.values() for place in member.holds()]
            assert len(held) == len(set(held)), "two members hold a partition"

    @invariant()
    def state_is_what_a_fresh_replay_makes(self) -> None:
        assert self.shard.replayed().hard_state() == self.shard.machine.hard_state()


ConsumerGroupModel.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestConsumerGroup = ConsumerGroupModel.TestCase
