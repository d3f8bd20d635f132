"""From an intent to batches: the staged records as they are, in the order of the intent, at consecutive offsets."""

import pytest

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.records.layout import BatchHeader, split_batches
from engine.stage.events import Intent
from engine.stage.lanes import Piece
from engine.stage.pending import PendingRow
from engine.stage.release_batches import ReleaseBatches
from engine.stage.state import HOLE
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import Leader, Node, Record, as_released, client_batch, parse, record

LARGE = 1 << 20


class Bench:
    """A prioritised stage whose rows are released as the test says."""

    def __init__(self) -> None:
        self.leader = Leader(Node(ManualClock(NOW_MS)))
        self.leader.append(client_batch([record("", priority=0)]))
        self.built = ReleaseBatches(self.leader.store.log)

    def send(self, *records: Record) -> PendingRow:
        held = self.leader.append(client_batch(records))
        assert held.is_staged
        return self.leader.row(held.staged_number - len(records) + 1)

    def build(
        self, *parts: tuple[PendingRow, Piece], skip: int = 0, max_bytes: int = LARGE, limit_bytes: int | None = None
    ) -> list[tuple[BatchHeader, list[Record]]]:
        intent = Intent(0, NOW_MS, tuple(piece for _, piece in parts))
        rows = {piece.number: row for row, piece in parts}
        data = self.built.build(intent, skip, rows, max_bytes, limit_bytes)
        return [(header, parse(bytes(view))) for header, view in split_batches(data)]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def whole(row: PendingRow) -> tuple[PendingRow, Piece]:
    return row, Piece(row.lane, row.number, row.count)


def part(row: PendingRow, first: int, count: int) -> tuple[PendingRow, Piece]:
    return row, Piece(row.lane, row.number + first, count)


def values(built: list[tuple[BatchHeader, list[Record]]]) -> list[bytes]:
    return [one.value for _, records in built for one in records]


def test_single_records_are_packed_together_in_the_order_of_the_intent(bench: Bench) -> None:
    rows = [bench.send(record(name, delay=10, created_ms=NOW_MS - place)) for place, name in enumerate("abc")]
    ((header, records),) = bench.build(whole(rows[2]), whole(rows[0]), whole(rows[1]))
    assert [one.value for one in records] == [b"c", b"a", b"b"]
    assert [one.created_ms for one in records] == [NOW_MS - 2, NOW_MS, NOW_MS - 1]
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS, NOW_MS)
    assert (header.producer_id, header.base_sequence) == (-1, -1)


def test_neighbours_on_disk_are_read_together(bench: Bench) -> None:
    sent = [record(name, delay=10) for name in "abcdef"]
    first = bench.send(*sent)
    rows = [bench.leader.row(first.number + place) for place in range(6)]
    files = bench.leader.node.files
    files.calls = 0
    ((_, records),) = bench.build(*map(whole, rows))
    assert files.calls == 1
    assert records == [as_released(one) for one in sent]


def test_a_run_is_copied_whole(bench: Bench) -> None:
    sent = [record("a", created_ms=NOW_MS - 3), record("b"), record("c", created_ms=NOW_MS + 3)]
    ((header, records),) = bench.build(whole(bench.send(*sent)))
    assert records == sent
    assert header.attributes == 0
    assert header.max_timestamp == NOW_MS + 3
    assert header.last_offset_delta == 2


def test_a_run_of_old_records_counts_from_its_release(bench: Bench) -> None:
    sent = [record("a", created_ms=NOW_MS - 120_000), record("b")]
    ((header, records),) = bench.build(whole(bench.send(*sent)))
    assert records == sent
    assert header.base_timestamp == NOW_MS


def test_a_part_of_a_run(bench: Bench) -> None:
    row = bench.send(*(record(name) for name in "abcde"))
    assert values(bench.build(part(row, 1, 3))) == [b"b", b"c", b"d"]


def test_a_run_larger_than_a_batch_may_be_is_split(bench: Bench) -> None:
    row = bench.send(*(record(name * 100) for name in "abcdef"))
    built = bench.build(whole(row), max_bytes=400)
    assert values(built) == [name.encode() * 100 for name in "abcdef"]
    assert len(built) > 1
    assert all(header.size <= 400 for header, _ in built)


def test_expired_records_leave_holes(bench: Bench) -> None:
    rows = [bench.send(record(name, delay=10)) for name in "abc"]
    run = bench.send(record("d"), record("e"))
    hole = rows[1], Piece(rows[1].lane + HOLE, rows[1].number, 1)
    holes = run, Piece(run.lane + HOLE, run.number, 2)
    built = bench.build(whole(rows[0]), hole, whole(rows[2]), holes)
    assert [(header.last_offset_delta + 1, header.is_hollow) for header, _ in built] == [
        (1, False), (1, True), (1, False), (2, True),
    ]  # fmt: skip


def test_holes_in_a_row_are_one(bench: Bench) -> None:
    rows = [bench.send(record(name, delay=10)) for name in "abcdef"]
    holes = [(row, Piece(row.lane + HOLE, row.number, 1)) for row in rows]
    built = bench.build(whole(rows[0]), *holes[1:4], whole(rows[4]), holes[5])
    assert [(header.last_offset_delta + 1, header.is_hollow) for header, _ in built] == [
        (1, False), (3, True), (1, False), (1, True),
    ]  # fmt: skip


def test_what_the_log_holds_already_is_left_out(bench: Bench) -> None:
    rows = [bench.send(record(name, delay=10)) for name in "ab"]
    run = bench.send(record("c"), record("d"), record("e"))
    parts = [*map(whole, rows), whole(run)]
    every = [b"a", b"b", b"c", b"d", b"e"]
    for skip in range(5):
        assert values(bench.build(*parts, skip=skip)) == every[skip:]


def test_batches_keep_to_their_size(bench: Bench) -> None:
    rows = [bench.send(record(name * 100, delay=10)) for name in "abcdef"]
    built = bench.build(*map(whole, rows), max_bytes=400)
    assert all(header.size <= 400 for header, _ in built)
    assert values(built) == [name.encode() * 100 for name in "abcdef"]


def test_a_limit_ends_at_a_whole_batch_and_lets_one_through_at_least(bench: Bench) -> None:
    rows = [bench.send(record(name * 100, delay=10)) for name in "abcdef"]
    assert values(bench.build(*map(whole, rows), max_bytes=200, limit_bytes=450)) == [b"a" * 100, b"b" * 100]
    assert values(bench.build(*map(whole, rows), limit_bytes=10)) == [b"a" * 100]


def test_bytes_that_are_missing_are_an_error_of_storage(bench: Bench) -> None:
    row = bench.send(record("a", delay=10))
    with pytest.raises(StorageError, match="lacks"):
        bench.built.read(row._replace(position=10_000))
    with pytest.raises(StorageError, match="lacks"):
        bench.build(whole(row._replace(position=10_000)))
