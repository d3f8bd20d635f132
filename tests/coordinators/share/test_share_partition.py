"""A share partition: where it begins, what it makes durable, its timers, who is woken, and when it is given up."""

from typing import Any

import pytest
from attrs import define, field

from coordinators.share.acks import AckBatch
from coordinators.share.acquiring import Acquired, ReadSpan, ShareWanted
from coordinators.share.config import ShareGroupSettings
from coordinators.share.counters import ShareCounters
from coordinators.share.ports import DeliveryState, LetterProducer, SharePlace, ShareState, StateBatch
from coordinators.share.runs import OffsetRun
from coordinators.share.share_partition import SharePartition, ShareSurroundings
from engine.clock import ManualClock
from engine.deferred import Deferred
from engine.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidRecordState,
    InvalidRequest,
    NotLeader,
)
from engine.partition.partition import Partition
from engine.partition.sync import SyncRounds
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.coordinators.share.fake_states import FakeStates
from tests.coordinators.share.windows import rules
from tests.engine.logs import NOW_MS, batch, memory_files, open_log

TOPIC = b"\7" * 16
PLACE = SharePlace("g", TOPIC, 0)
ACCEPT, RELEASE, REJECT = 1, 2, 3


@define(eq=False)
class Waiter:
    woken: int = 0

    def wake(self, share: SharePartition) -> None:
        self.woken += 1


@define(slots=False)
class Leader:
    """A partition of twenty records in batches of ten, and the share partition on it."""

    settings: ShareGroupSettings = field(factory=rules)
    states: FakeStates = field(factory=FakeStates)
    letters: list[OffsetRun] = field(factory=list)
    closed: list[SharePartition] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.clock, self.timers = ManualClock(NOW_MS), Timers()
        disk = InlineWorkers()
        self.partition = Partition(TOPIC, 0, open_log(memory_files(), clock=self.clock), SyncRounds(disk, lambda: None))
        self.partition.sync_writes = False
        self.grow()
        self.grow()
        self.around = ShareSurroundings(
            self.states,
            self.clock,
            self.timers,
            disk,
            lambda _: self.settings,
            ShareCounters(),
            lambda _, letters: self.letters.extend(letters),
            lambda _: None,
            self.closed.append,
        )
        self.share = self.open()

    def open(self) -> SharePartition:
        self.share = SharePartition(PLACE, "t", self.partition, self.around, {})
        self.share.load()
        return self.share

    def grow(self) -> None:
        self.partition.write(batch(10))

    def take(self, member: str = "m1", most: int = 10) -> list[Acquired]:
        assert self.share.window is not None
        position = self.share.window.next_position(self.settings.max_record_locks, self.clock.now_ms())
        if position is None or position >= self.share.readable_end:
            return []
        spans = [ReadSpan(base, base + 9) for base in range(position - position % 10, self.share.readable_end, 10)]
        return self.share.acquire(spans, position, ShareWanted(member, most))

    def ack(self, first: int, last: int, *types: int) -> Deferred[None] | None:
        return self.share.acknowledge("m1", [AckBatch(first, last, types)])

    def pass_ms(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.timers.run_due(self.clock.monotonic())


@pytest.mark.parametrize(
    ("reset", "start"), [("earliest", 0), ("latest", 20), ("by_duration:PT1H", 0), ("by_duration:PT0S", 0)]
)
def test_where_a_new_group_begins_is_durable_at_once(reset: str, start: int) -> None:
    leader = Leader(rules(auto_offset_reset=reset))
    assert leader.states.states[PLACE].start_offset == start
    assert leader.share.loaded.settled


def test_a_duration_finds_the_first_record_that_is_young_enough() -> None:
    leader = Leader(rules(auto_offset_reset="by_duration:PT1S"))
    leader.states.states.clear()
    leader.clock.advance_ms(5000)
    leader.partition.write(batch(10, timestamp_ms=NOW_MS + 5000))
    leader.open()
    assert leader.states.states[PLACE].start_offset == 20


def test_it_is_loaded_only_when_its_start_is_durable() -> None:
    states = FakeStates(hold=True)
    leader = Leader(states=states)
    states.go_on()
    assert leader.share.window is None
    states.go_on()
    assert leader.share.window is not None


def test_an_acknowledgement_is_answered_when_it_is_durable() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    assert leader.take() == [(0, 9, 1)]
    leader.states.hold = True
    answer = leader.ack(0, 9, ACCEPT)
    assert answer is not None
    assert not answer.settled
    leader.states.go_on()
    assert answer.settled
    assert leader.states.states[PLACE].start_offset == 10


def test_a_passing_refusal_gives_the_records_back() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    leader.take()
    leader.states.refusal = CoordinatorLoadInProgress("not yet")
    answer = leader.ack(0, 9, ACCEPT)
    assert answer is not None
    assert isinstance(answer.refusal, CoordinatorNotAvailable)
    leader.states.refusal = None
    again = leader.ack(0, 9, ACCEPT)
    assert again is not None
    assert again.refusal is None
    assert not leader.closed


def test_a_state_that_was_made_anew_ends_it_and_the_next_one_begins_there() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    leader.take()
    leader.states.initialize(PLACE, 7, 15)
    answer = leader.ack(0, 9, ACCEPT)
    assert answer is not None
    assert isinstance(answer.refusal, NotLeader)
    assert leader.closed == [leader.share]
    leader.open()
    assert leader.take() == [(15, 19, 1)]


def test_locks_run_out_by_themselves_and_wake_who_waits() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    leader.take(most=20)
    waiter = Waiter()
    leader.share.watch(waiter)
    leader.pass_ms(29_000)
    assert waiter.woken == 0
    leader.pass_ms(2_000)
    assert waiter.woken
    assert leader.take("m2", most=20) == [(0, 19, 2)]
    with pytest.raises(InvalidRecordState):
        leader.ack(0, 9, ACCEPT)


def test_the_end_of_a_back_off_wakes_who_waits() -> None:
    leader = Leader(rules(auto_offset_reset="earliest", retry_backoff_ms=2000))
    leader.take(most=20)
    leader.ack(0, 19, RELEASE)
    waiter = Waiter()
    leader.share.watch(waiter)
    leader.pass_ms(1_000)
    assert (waiter.woken, leader.take()) == (0, [])
    leader.pass_ms(1_100)
    assert waiter.woken
    assert leader.take() == [(0, 9, 2)]


def test_new_records_wake_as_many_as_there_is_something_for() -> None:
    leader = Leader()
    taken: list[Any] = []

    @define(eq=False)
    class Taker:
        def wake(self, share: SharePartition) -> None:
            taken.append(leader.take())

    for _ in range(3):
        leader.share.watch(Taker())
    leader.grow()
    assert taken == [[(20, 29, 1)]]


def test_an_expiry_that_could_not_be_written_is_written_later() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    leader.take()
    leader.states.refusal = CoordinatorLoadInProgress("not yet")
    leader.pass_ms(31_000)
    leader.states.refusal = None
    leader.pass_ms(1_000)
    assert [each.delivery_count for each in leader.states.states[PLACE].batches] == [1]


def test_it_is_idle_when_loading_it_anew_would_lose_nothing() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    assert leader.share.is_idle
    leader.take()
    assert not leader.share.is_idle
    leader.ack(0, 9, ACCEPT)
    assert leader.share.is_idle


def test_the_end_of_a_leadership_refuses_who_waits() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    leader.take()
    leader.states.hold = True
    answer, waiter = leader.ack(0, 9, ACCEPT), Waiter()
    leader.share.watch(waiter)
    leader.share.close(NotLeader("elsewhere"))
    assert answer is not None
    assert isinstance(answer.refusal, NotLeader)
    assert waiter.woken == 1
    leader.states.go_on()
    assert leader.partition.statistics()["watchers"] == 0


def test_dead_letters_are_told_once_durable_and_gone_once_written() -> None:
    leader = Leader(rules(auto_offset_reset="earliest", dead_letters_enabled=True))
    leader.take()
    leader.ack(0, 9, REJECT)
    assert [(run.first, run.last) for run in leader.letters] == [(0, 9)]
    assert not leader.share.is_idle
    producer = LetterProducer(1, 0, "t.dlq", ((0, 9),))
    assert leader.share.note_letters(producer).settled
    assert leader.states.states[PLACE].letter_producer == producer
    assert leader.states.states[PLACE].batches[0].state is DeliveryState.ARCHIVING
    assert leader.share.note_letters(LetterProducer(1, 10, "t.dlq"), [(0, 9)]).settled
    assert leader.states.states[PLACE].start_offset == 10
    assert leader.share.letters() == []


def test_letters_that_were_left_over_are_told_when_it_is_loaded() -> None:
    states = FakeStates({PLACE: ShareState(1, 0, 0, 0, (StateBatch(0, 4, DeliveryState.ARCHIVING, 5),))})
    leader = Leader(states=states)
    assert [(run.first, run.last) for run in leader.letters] == [(0, 4)]
    assert [(run.first, run.last) for run in leader.share.letters()] == [(0, 4)]


def test_a_log_that_lost_its_end_is_shared_from_where_it_ends() -> None:
    leader = Leader(states=FakeStates({PLACE: ShareState(1, 0, 500)}))
    leader.grow()
    assert leader.take() == [(20, 29, 1)]


def test_members_are_told_only_what_they_know() -> None:
    leader = Leader(rules(auto_offset_reset="earliest"))
    leader.take()
    leader.states.refusal = InvalidRequest("not what a member understands")
    answer = leader.ack(0, 9, ACCEPT)
    assert answer is not None
    assert isinstance(answer.refusal, CoordinatorNotAvailable)
    assert isinstance(leader.share.closed, CoordinatorNotAvailable)
