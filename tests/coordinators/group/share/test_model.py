"""Any sequence of heartbeats, leaves, topics, pauses, crashes: everybody reads something, state equals a replay."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from coordinators.group.share.record_formats import StateTopic
from coordinators.group.share.states import begin_elsewhere, begin_forgetting, finish_deletion, finish_forgetting
from engine.errors import BrokerError, NonEmptyGroup
from tests.coordinators.group.consumer_shard import topic_id
from tests.coordinators.group.share_shard import ShareConsumer, ShareShard

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
TOPICS = st.sampled_from(["t", "u", "v"])


class ShareGroupModel(RuleBasedStateMachine):
    """Members that behave, in a world that does not."""

    def __init__(self) -> None:
        super().__init__()
        self.shard = ShareShard()
        self.members: dict[str, ShareConsumer] = {}

    @rule(name=TOPICS, more=st.integers(1, 3))
    def make_topic(self, name: str, more: int) -> None:
        existing = self.shard.topics.by_name.get(name)
        self.shard.topic(name, more + (0 if existing is None else existing.partition_count))

    @rule(name=TOPICS)
    def delete_topic(self, name: str) -> None:
        if name in self.shard.topics.by_name:
            self.shard.delete_topic(name)

    @rule(name=NAMES, topics=st.frozensets(TOPICS, min_size=1))
    def join(self, name: str, topics: frozenset[str]) -> None:
        member = self.members[name] = ShareConsumer(self.shard, name, tuple(topics))
        assert not isinstance(member.join(), BrokerError)

    @rule(name=NAMES)
    def beat(self, name: str) -> None:
        member = self.members.get(name)
        if member is not None and isinstance(member.beat(), BrokerError):
            member.join()

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        member = self.members.pop(name, None)
        if member is not None:
            member.leave()

    @rule(duration_ms=st.integers(1, 50_000))
    def advance(self, duration_ms: int) -> None:
        self.shard.advance(duration_ms)

    @rule()
    def crash(self) -> None:
        self.shard.crash()

    @rule(name=TOPICS, index=st.integers(0, 2))
    def begin_elsewhere(self, name: str, index: int) -> None:
        topic = self.shard.topics.by_name.get(name)
        if topic is not None:
            wanted = {topic.topic_id: StateTopic(name, frozenset({index % topic.partition_count}))}
            self.ask(begin_elsewhere, wanted)

    @rule(name=TOPICS, finishes=st.booleans())
    def forget(self, name: str, finishes: bool) -> None:
        """It may be broken off in the middle."""
        places = self.ask(begin_forgetting, {topic_id(name)})
        if finishes and not isinstance(places, BrokerError):
            self.ask(finish_forgetting, {topic_id(name)})

    @rule()
    def delete(self) -> None:
        had_members = any(group.members for group in self.shard.machine.shares.groups.values())
        answer = self.ask(finish_deletion)
        assert had_members == isinstance(answer, NonEmptyGroup)

    def ask(self, operation: Any, *arguments: Any) -> Any:
        return self.shard.ask(lambda machine: operation(machine.shares, "g", *arguments)).message

    @rule()
    def settle_down(self) -> None:
        """When all have come, every partition is read by somebody who wants it, and everybody reads something."""
        for member in self.members.values():
            if isinstance(member.beat(), BrokerError):
                member.join()
        for member in self.members.values():
            member.beat()
        by_name = self.shard.topics.by_name
        read, wanted = set(), set()
        for member in self.members.values():
            mine = {topic_id(name): by_name[name].partition_count for name in member.topics if name in by_name}
            assert set(member.assigned) <= set(mine)
            assert bool(member.assigned) == bool(mine)
            wanted |= {(topic, index) for topic, count in mine.items() for index in range(count)}
            read |= {(topic, index) for topic, indexes in member.assigned.items() for index in indexes}
        group = self.shard.machine.shares.groups.get("g")
        if group is not None and len(group.members) == len(self.members):
            assert read == wanted
            assert read <= set(group.state_places())

    @invariant()
    def state_is_what_a_fresh_replay_makes(self) -> None:
        assert self.shard.replayed().hard_state() == self.shard.machine.hard_state()

    @invariant()
    def states_are_of_topics_that_exist(self) -> None:
        for group in self.shard.machine.shares.groups.values():
            assert set(group.states.initialized) <= self.shard.topics.by_id.keys()
            assert not group.states.initialized.keys() & group.states.deleting.keys()


ShareGroupModel.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestShareGroup = ShareGroupModel.TestCase
