"""The shard as a whole: whatever is done to it, a fresh replay of its log says the same."""

from contextlib import suppress
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from coordinators.group.classic.group import GroupState
from coordinators.group.requests import CommitRequest, LeavingMember, OffsetToCommit
from coordinators.state_machine import Producer, Record
from engine.errors import BrokerError, NotCoordinator
from engine.log.types import Origin
from engine.records.layout import CONTROL_FLAG, TRANSACTIONAL_FLAG, build_batch
from tests.coordinators.group.shard import Shard

MEMBERS = st.integers(0, 3)
PLACES = st.tuples(st.sampled_from(["t", "u"]), st.integers(0, 1))
PRODUCERS = st.integers(1, 2)


class Groups(RuleBasedStateMachine):
    """Members that do anything at any time, commits, transactions, time, crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.shard = Shard()
        self.known: dict[int, Any] = {}

    def answer(self, number: int) -> tuple[str, int]:
        heard = self.known.get(number)
        message = None if heard is None else heard.message
        if hasattr(message, "generation"):
            return message.member_id, message.generation
        return "", -1

    @rule(number=MEMBERS, static=st.booleans(), topic=st.sampled_from(["a", "b"]), keep_id=st.booleans())
    def join(self, number: int, static: bool, topic: str, keep_id: bool) -> None:
        member_id = self.answer(number)[0] if keep_id else ""
        instance = f"i{number}" if static else None
        self.known[number] = self.shard.join(member_id, instance, protocols=(("range", topic.encode()),))

    @rule(number=MEMBERS)
    def sync(self, number: int) -> None:
        member_id, generation = self.answer(number)
        assignments = {self.answer(each)[0]: b"%d" % each for each in self.known}
        self.shard.sync(member_id, generation, assignments)

    @rule(number=MEMBERS)
    def heartbeat(self, number: int) -> None:
        with suppress(BrokerError):
            self.shard.heartbeat(*self.answer(number))

    @rule(numbers=st.lists(MEMBERS, max_size=2), static=st.booleans())
    def leave(self, numbers: list[int], static: bool) -> None:
        named = [LeavingMember("", f"i{each}") if static else LeavingMember(self.answer(each)[0]) for each in numbers]
        self.shard.leave(*named)

    @rule(number=MEMBERS, place=PLACES, offset=st.integers(0, 9))
    def commit(self, number: int, place: tuple[str, int], offset: int) -> None:
        member_id, generation = self.answer(number)
        self.shard.commit(OffsetToCommit(*place, offset), member_id=member_id, generation=generation)

    @rule(place=PLACES, offset=st.integers(0, 9), producer_id=PRODUCERS)
    def commit_in_a_transaction(self, place: tuple[str, int], offset: int, producer_id: int) -> None:
        request = CommitRequest("g", "", -1, (OffsetToCommit(*place, offset),))
        self.shard.ask(lambda machine: machine.commits.commit_transactional(request, Producer(producer_id, 0)))

    @rule(producer_id=PRODUCERS, committed=st.booleans())
    def end_a_transaction(self, producer_id: int, committed: bool) -> None:
        key, value = b"\0\0" + (b"\0\1" if committed else b"\0\0"), b"\0\0\0\0\0\0"
        flags = TRANSACTIONAL_FLAG | CONTROL_FLAG
        batch = build_batch([(key, value)], timestamp_ms=1, producer_id=producer_id, producer_epoch=0, attributes=flags)
        self.shard.partition.write(batch, origin=Origin.COORDINATOR)
        self.shard.settle()

    @rule(place=PLACES)
    def delete_an_offset(self, place: tuple[str, int]) -> None:
        self.shard.ask(lambda machine: machine.commits.delete_offsets("g", [place]))

    @rule()
    def delete(self) -> None:
        self.shard.ask(lambda machine: machine.commits.delete_group("g"))

    @rule(duration_ms=st.sampled_from([1, 5_000, 20_000, 700_000, 8 * 24 * 3_600_000]))
    def pass_time(self, duration_ms: int) -> None:
        self.shard.advance(duration_ms)

    @rule()
    def crash(self) -> None:
        self.shard.crash()

    @invariant()
    def a_fresh_replay_says_the_same(self) -> None:
        assert self.shard.machine.hard_state() == self.shard.replayed().hard_state()

    @invariant()
    def a_settled_group_is_what_its_record_says(self) -> None:
        for group in self.shard.machine.groups.values():
            if group.state is GroupState.STABLE:
                assignments = {member.member_id: member.assignment for member in group.members.values()}
                assert group.stored == group.record_value(assignments, group.state_timestamp_ms)


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_a_record_of_an_unknown_kind_is_passed_over(shard: Shard) -> None:
    shard.machine.replay(Record(b"\x7f\xff???", b""), -1)
    assert shard.machine.groups == {}


def test_whoever_waits_is_told_when_the_coordinator_goes(shard: Shard) -> None:
    shard.settled_member()
    waiting = shard.join()
    shard.machine.unloaded()
    assert isinstance(waiting.message, NotCoordinator)


def test_a_shard_counts_what_it_holds(shard: Shard) -> None:
    shard.settled_member()
    assert shard.machine.statistics() == {"groups": 1, "members": 1, "offsets": 0, "pending_offsets": 0}
