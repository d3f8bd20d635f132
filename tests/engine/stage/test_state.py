"""The replay of a stage's log: what becomes of a record by what follows it."""

from engine.clock import ManualClock
from engine.log.transactions import EndMarker, build_marker
from engine.records.layout import HEADER_SIZE, parse_header
from engine.stage.events import (
    Cancelled,
    ClockMoved,
    DeadLettered,
    Event,
    Expired,
    Intent,
    Moved,
    Priority,
    Ready,
    Rescheduled,
    build_events,
)
from engine.stage.fates import FateKind, id_hash
from engine.stage.lanes import LaneRules, Piece
from engine.stage.state import (
    DEAD,
    HELD,
    HOLE,
    PLAIN_FLAG,
    READY,
    SPENT,
    UNCOMMITTED,
    WAITING,
    Placed,
    StageState,
    number_key,
)
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import Record, client_batch, record

START_MS = ManualClock().now_ms()


class Replay:
    """A state, and batches that follow one another."""

    def __init__(self, *, prioritised: bool = False) -> None:
        self.state = StageState.empty(START_MS, START_MS, LaneRules())
        self.end = 0
        self.position = 0
        self.now_ms = START_MS
        if prioritised:
            self.note(Priority(True))

    def take(self, batch: bytes, attributes: int = 0) -> int:
        header = parse_header(batch)
        first = self.end
        header = header._replace(
            base_offset=first, max_timestamp=self.now_ms, attributes=header.attributes | attributes
        )
        self.state.replay(Placed(header, batch[HEADER_SIZE:], 0, self.position + HEADER_SIZE))
        self.end = header.next_offset
        self.position += len(batch)
        return first

    def send(self, *records: Record, producer_id: int = -1, attributes: int = 0) -> int:
        """The number of the first record."""
        return self.take(client_batch(records, producer_id=producer_id, transactional=producer_id >= 0), attributes)

    def note(self, *events: Event) -> None:
        self.take(build_events(events, self.now_ms))

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        self.take(build_marker(producer_id, 0, EndMarker(committed, 0), self.now_ms))

    def state_of(self, number: int) -> int | None:
        row = self.state.table.get(number)
        return None if row is None else row.state

    def fate(self, schedule_id: str) -> FateKind | None:
        fate = self.state.fates.get(id_hash(schedule_id.encode()))
        return None if fate is None else fate.kind


def intent(first_offset: int, *numbers: int) -> Intent:
    return Intent(first_offset, START_MS, tuple(Piece(2, number, 1) for number in numbers))


# -- waiting


def test_a_delay_counts_from_when_the_record_was_received() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, created_ms=NOW_MS - 9_000))
    row = replay.state.table.get(number)
    assert row is not None
    assert (row.state, row.due_ms, row.relative) == (WAITING, START_MS + 500, True)
    assert list(replay.state.steady.entries()) == [(START_MS + 500, number)]


def test_a_time_of_delivery_counts_by_the_wall_clock() -> None:
    replay = Replay()
    number = replay.send(record("a", deliver_at=START_MS + 70))
    assert list(replay.state.wall.entries()) == [(START_MS + 70, number)]


def test_a_run_is_one_row() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a"), record("b"), record("c"))
    assert replay.state.table.row_count == 1
    assert len(replay.state.table) == len(replay.state.lanes) == 3
    assert replay.state_of(number + 2) == READY


def test_headers_are_plain_data_where_extensions_were_off() -> None:
    replay = Replay(prioritised=True)
    single = replay.send(record("a", delay=500), attributes=PLAIN_FLAG)
    run = replay.send(record("b", delay=500), record("c", priority=0), attributes=PLAIN_FLAG)
    assert (replay.state_of(single), replay.state_of(run)) == (READY, READY)
    assert replay.state.table.row_count == 2


def test_ready_records_enter_their_lanes() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a", delay=500, priority="low"))
    assert not len(replay.state.lanes)
    replay.note(Ready((number,)))
    assert replay.state.lanes.choose(10, 1000, START_MS) == [Piece(3, number, 1)]
    assert replay.state.readied == 1


def test_what_is_ready_already_is_not_made_ready_twice() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a", delay=500))
    replay.note(Ready((number,)))
    replay.note(Ready((number,)))
    assert len(replay.state.lanes) == 1


# -- cancelling and replacing


def test_a_cancel_ends_what_waits() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, schedule_id="x"))
    replay.send(record("", cancel="x"))
    assert replay.state_of(number) is None
    assert replay.fate("x") is FateKind.CANCELLED
    assert replay.state.counters.cancelled == 1


def test_a_cancel_of_what_is_on_its_way_is_late() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, schedule_id="x"))
    replay.note(intent(0, number))
    replay.send(record("", cancel="x"))
    replay.state.settle(1)
    assert replay.fate("x") is FateKind.DELIVERED
    replay.send(record("", cancel="x"), record("", cancel="y"))
    assert (replay.state.counters.cancelled_late, replay.state.counters.cancelled_unknown) == (2, 1)


def test_the_same_id_again_replaces_what_waits() -> None:
    replay = Replay()
    first = replay.send(record("a", delay=500, schedule_id="x"))
    second = replay.send(record("b", delay=900, schedule_id="x"))
    assert (replay.state_of(first), replay.state_of(second)) == (None, WAITING)
    assert replay.state.counters.replaced == 1


def test_an_undelayed_record_is_not_replaced_by_the_next_of_its_batch() -> None:
    replay = Replay()
    number = replay.send(record("a", schedule_id="x"), record("b", delay=500, schedule_id="x"), record("", cancel="x"))
    replay.note(intent(0, number))
    assert (replay.state_of(number), replay.state_of(number + 1)) == (None, None)
    assert [row.number for row in replay.state.intended.values()] == [number]


def test_an_administrator_cancels_what_waits_and_leaves_a_hole_for_what_was_promised() -> None:
    replay = Replay(prioritised=True)
    waits = replay.send(record("a", delay=500, schedule_id="x"))
    ready = replay.send(record("b", priority=0, schedule_id="y"))
    replay.note(Cancelled((waits, ready)))
    assert (replay.state_of(waits), replay.state_of(ready)) == (None, SPENT)
    assert replay.fate("x") is replay.fate("y") is FateKind.CANCELLED
    assert len(replay.state.lanes) == 1


def test_an_administrator_moves_only_what_waits() -> None:
    replay = Replay(prioritised=True)
    waits = replay.send(record("a", delay=500))
    ready = replay.send(record("b", priority=0))
    for number in (waits, ready):
        replay.note(Rescheduled(number, START_MS + 9_000, False))
    row, untouched = replay.state.table.get(waits), replay.state.table.get(ready)
    assert row is not None
    assert untouched is not None
    assert (row.due_ms, row.relative) == (START_MS + 9_000, False)
    assert untouched.due_ms == START_MS
    assert list(replay.state.wall.entries()) == [(START_MS + 9_000, waits)]


# -- transactions


def test_records_of_an_open_transaction_wait_for_its_end() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a"), producer_id=1)
    assert replay.state_of(number) == UNCOMMITTED
    replay.end_transaction(1, committed=True)
    assert replay.state_of(number) == READY


def test_records_of_an_aborted_transaction_vanish() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500), producer_id=1)
    replay.end_transaction(1, committed=False)
    assert replay.state_of(number) is None
    assert not replay.state.transactions


def test_a_marker_twice_is_one() -> None:
    replay = Replay(prioritised=True)
    replay.send(record("a"), producer_id=1)
    replay.end_transaction(1, committed=True)
    replay.end_transaction(1, committed=True)
    assert len(replay.state.lanes) == 1


def test_an_uncommitted_cancel_holds_its_record_until_the_abort() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, schedule_id="x"))
    replay.send(record("", cancel="x"), producer_id=1)
    assert replay.state_of(number) == HELD
    replay.state.steady.due(START_MS + 10_000, 10)
    replay.end_transaction(1, committed=False)
    assert replay.state_of(number) == WAITING
    assert (START_MS + 500, number) in list(replay.state.steady.entries())


def test_a_record_held_by_two_waits_for_both() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, schedule_id="x"))
    replay.send(record("", cancel="x"), producer_id=1)
    replay.send(record("", cancel="x"), producer_id=2)
    replay.end_transaction(1, committed=False)
    assert replay.state_of(number) == HELD
    replay.end_transaction(2, committed=True)
    assert replay.state_of(number) is None
    assert replay.fate("x") is FateKind.CANCELLED


def test_a_transaction_replaces_at_its_commit() -> None:
    replay = Replay()
    old = replay.send(record("a", delay=500, schedule_id="x"))
    new = replay.send(record("b", delay=900, schedule_id="x"), producer_id=1)
    assert (replay.state_of(old), replay.state_of(new)) == (HELD, UNCOMMITTED)
    replay.end_transaction(1, committed=True)
    assert (replay.state_of(old), replay.state_of(new)) == (None, WAITING)
    assert replay.state.table.by_id(id_hash(b"x")) == new


def test_a_transaction_cancels_all_that_it_has_scheduled_itself() -> None:
    replay = Replay()
    first = replay.send(record("a", delay=500, schedule_id="x"), record("b", delay=900, schedule_id="x"), producer_id=1)
    replay.send(record("", cancel="x"), producer_id=1)
    replay.end_transaction(1, committed=True)
    assert (replay.state_of(first), replay.state_of(first + 1)) == (None, None)


# -- releasing


def test_a_record_is_released_when_its_offset_is_under_the_high_watermark() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, schedule_id="x"), record("b", delay=500))
    replay.note(intent(7, number, number + 1))
    assert replay.state.settle(8) == []
    assert replay.fate("x") is None
    (settled,) = replay.state.settle(9)
    assert settled.end_offset == 9
    assert not replay.state.intents
    assert not replay.state.intended
    fate = replay.state.fates.get(number_key(number + 1))
    assert fate is not None
    assert (fate.kind, fate.offset) == (FateKind.DELIVERED, 8)


def test_an_intent_written_anew_takes_the_place_of_the_first() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500))
    replay.note(intent(7, number))
    replay.note(intent(3, number))
    assert [one.first_offset for one in replay.state.intents] == [3]


def test_a_run_is_released_in_parts() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a"), record("b"), record("c"))
    replay.note(Intent(0, START_MS, (Piece(2, number, 2),)))
    assert len(replay.state.table) == len(replay.state.lanes) == 1
    replay.note(Intent(2, START_MS, (Piece(2, number + 2, 1),)))
    assert replay.state_of(number) is None
    assert len(replay.state.settle(3)) == 2


def test_a_later_fate_of_an_id_outlives_the_settling_of_an_earlier_one() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=5, schedule_id="x"))
    replay.note(intent(0, number))
    replay.now_ms += 10
    replay.send(record("b", delay=500, schedule_id="x"), record("", cancel="x"))
    replay.state.settle(1)
    assert replay.fate("x") is FateKind.CANCELLED


# -- expiry


def test_an_expired_record_that_was_not_promised_is_gone() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500, schedule_id="x", expires_at=START_MS + 10))
    replay.note(Expired((number,)))
    assert replay.state_of(number) is None
    assert replay.fate("x") is FateKind.EXPIRED


def test_an_expired_record_that_was_promised_leaves_a_hole() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a", ttl=10))
    replay.note(Expired((number,)), Intent(0, START_MS, (Piece(2 + HOLE, number, 1),)))
    assert not len(replay.state.lanes)
    replay.state.settle(1)
    assert replay.state.counters.released == 0
    assert replay.state.counters.expired == 1


def test_a_dead_letter_stays_until_it_has_arrived() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a", ttl=10))
    replay.note(Expired((number,), True), Intent(0, START_MS, (Piece(2 + HOLE, number, 1),)))
    replay.state.settle(1)
    assert replay.state_of(number) == DEAD
    replay.note(DeadLettered((number,)))
    assert replay.state_of(number) is None
    assert not replay.state.dead_letters
    assert replay.state.dead_letters_sent == 1


def test_of_a_run_that_was_read_in_part_only_the_rest_is_a_dead_letter() -> None:
    replay = Replay(prioritised=True)
    number = replay.send(record("a"), record("b"), record("c"))
    replay.note(Intent(0, START_MS, (Piece(2, number, 1),)))
    replay.note(Expired((number,), True))
    replay.note(Intent(1, START_MS, (Piece(2 + HOLE, number + 1, 2),)))
    assert replay.state.dead_letters == {number: 1}


# -- the rest


def test_a_moved_record_lies_elsewhere_and_keeps_its_number() -> None:
    replay = Replay()
    number = replay.send(record("a", delay=500))
    row = replay.state.table.get(number)
    assert row is not None
    at = replay.position
    event = Moved(row, b"r" * row.size)
    batch = build_events([event], START_MS)
    replay.take(batch)
    moved = replay.state.table.get(number)
    assert moved is not None
    assert batch[moved.position - at :][: row.size] == b"r" * row.size


def test_a_moved_clock_is_remembered() -> None:
    replay = Replay()
    replay.note(ClockMoved(-5_000))
    assert replay.state.ahead_ms == -5_000
