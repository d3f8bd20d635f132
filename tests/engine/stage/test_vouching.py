"""What is released under a new checksum is what was staged, or a hole: never bytes that turned over meanwhile."""

from engine.clock import ManualClock
from engine.damage import DamagedFile
from engine.records.layout import split_batches
from engine.stage.events import Intent
from engine.stage.lanes import Piece
from engine.stage.pending import PendingRow
from engine.stage.release_batches import ReleaseBatches
from engine.stage.vouching import Voucher
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import Leader, Node, client_batch, record, reopened

NAMES = ["one", "two", "three", "four"]


def staged() -> Leader:
    leader = Leader(Node(ManualClock(NOW_MS)))
    leader.append(client_batch([record(name, delay=10) for name in NAMES[:3]]))
    leader.append(client_batch([record(NAMES[3], delay=10)]))
    leader.make_durable()
    return leader


def rows_of(leader: Leader) -> list[PendingRow]:
    return list(leader.state.table.rows())


class Bench:
    """Rows that another process has staged."""

    def __init__(self) -> None:
        self.leader = reopened(staged())
        self.found: list[DamagedFile] = []
        self.built = ReleaseBatches(self.leader.store.log, self.found.append)
        self.rows = rows_of(self.leader)
        (self.segment,) = self.leader.store.log.segments

    def flip(self, row: PendingRow) -> None:
        self.leader.node.files.flip_bit(self.segment.path, row.position + row.size - 3)

    def release(self) -> list[tuple[bool, int]]:
        """Whether each batch is a hole, and how many offsets it takes."""
        job = self.built.warming(self.rows)
        assert job is not None, "they are not our own"
        job()
        pieces = tuple(Piece(row.lane, row.number, 1) for row in self.rows)
        data = self.built.build(Intent(0, NOW_MS, pieces), 0, {row.number: row for row in self.rows}, 1 << 20)
        return [(header.is_control, header.last_offset_delta + 1) for header, _ in split_batches(data)]


def test_what_is_sound_is_released_as_it_was() -> None:
    bench = Bench()
    assert bench.release() == [(False, 4)]
    assert bench.found == []


def test_a_damaged_record_and_those_of_its_batch_leave_a_hole_and_the_others_come() -> None:
    bench = Bench()
    bench.flip(bench.rows[1])
    released = bench.release()
    assert sum(count for is_hole, count in released if is_hole) == 3
    assert sum(count for is_hole, count in released if not is_hole) == 1
    (damage,) = bench.found
    assert (damage.path, damage.offset) == (bench.segment.path, bench.rows[0].number)
    assert damage.position < bench.rows[0].position


def test_damage_is_told_once() -> None:
    bench = Bench()
    bench.flip(bench.rows[3])
    for _ in range(3):
        bench.release()
    assert len(bench.found) == 1


def test_what_this_process_has_staged_is_not_read_again() -> None:
    leader = Leader(Node(ManualClock(NOW_MS)))
    voucher = Voucher(leader.store.log, lambda _: None)
    leader.append(client_batch([record("own", delay=10)]))
    (row,) = rows_of(leader)
    assert voucher.is_own(row)
    assert not voucher.is_damaged(row)


def test_a_damaged_index_is_no_damaged_record() -> None:
    bench = Bench()
    bench.segment.loaded_index().add(1, 7, 0)
    assert bench.release() == [(False, 4)]


def test_what_is_damaged_is_not_copied_as_if_it_were_sound() -> None:
    leader = reopened(staged())
    rows = rows_of(leader)
    (segment,) = leader.store.log.segments
    leader.node.files.flip_bit(segment.path, rows[3].position + rows[3].size - 3)
    job = leader.stage.warming_rows(rows)
    assert job is not None
    job()
    leader.stage.move(rows)
    assert [row.number for row in rows_of(leader)] == [row.number for row in rows[:3]]
