"""Compaction of transactions: which records, markers and entries go, and when."""

import errno
import random

import pytest
from attrs import evolve

from engine.records.layout import DELETE_HORIZON_FLAG
from tests.engine.cleaner.world import COMPACT, World

P, Q = 7, 8
RETENTION_MS = COMPACT.delete_retention_ms
# Every little bit of dirt is reason enough.
EAGER = evolve(COMPACT, min_cleanable_dirty_ratio=0)


def clean(world: World, key: bytes = b"other") -> None:
    """Seals what there is and compacts it; the active segment then begins with an ordinary record."""
    world.roll()
    world.compact()
    world.write((key, b"."))


def clean_past_horizon(world: World) -> None:
    world.clock.advance_ms(RETENTION_MS)
    clean(world)


def transaction(world: World, *keys: bytes, committed: bool, producer_id: int = P, epoch: int = 0) -> None:
    world.write_in_transaction(producer_id, *((key, b"%d" % world.log.end_offset) for key in keys), epoch=epoch)
    world.end_transaction(producer_id, committed=committed, epoch=epoch)


def aborted(world: World) -> list[tuple[int, int, int]]:
    return [each[:3] for each in world.log.aborted_transactions(0, world.log.end_offset)]


def state(world: World) -> list[tuple[int, ...]]:
    return sorted(
        (p.producer_id, p.epoch, p.last_sequence, p.coordinator_epoch, p.transaction_start_offset)
        for p in world.log.producers()
    )


def test_an_aborted_record_goes_and_hides_no_committed_one() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=True)
    transaction(world, b"a", committed=False, producer_id=Q)
    clean(world)
    assert {offset: value for offset, value in world.values().items() if value == b"0"} == {0: b"0"}
    assert 2 not in world.values()
    assert [record.value for record in world.committed()] == [b"0", b"."]


@pytest.mark.parametrize("codec", ["uncompressed", "zstd"])
def test_committed_records_are_compacted_by_key(codec: str) -> None:
    world = World(EAGER)
    for value in (b"1", b"2", b"3"):
        world.write_in_transaction(P, (b"a", value), (b"b", value), codec=codec)
        world.end_transaction(P, committed=True)
    clean(world)
    assert [(record.offset, record.value) for record in world.committed()] == [(6, b"3"), (7, b"3"), (9, b".")]


def test_a_committed_record_replaces_a_plain_one_and_the_other_way_round() -> None:
    world = World(EAGER)
    world.write((b"a", b"plain"), (b"b", b"plain"))
    transaction(world, b"a", b"c", committed=True)
    world.write((b"c", b"plain"))
    clean(world)
    assert [(record.key, record.value) for record in world.committed()][:3] == [
        (b"b", b"plain"),
        (b"a", b"2"),
        (b"c", b"plain"),
    ]


def test_undecided_records_are_not_touched() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=True)
    world.write_in_transaction(P, (b"a", b"undecided"))
    world.roll()
    world.write((b"a", b"later"))
    clean(world)
    assert world.values()[0] == b"0"
    world.end_transaction(P, committed=True)
    clean(world)
    assert [record.value for record in world.committed() if record.key == b"a"] == [b"later"]


def test_a_segment_is_cleaned_where_the_marker_comes_later() -> None:
    """Decided below the last stable offset, by a marker past it: that lies in the active segment."""
    world = World(EAGER)
    world.write((b"a", b"0"))
    world.write_in_transaction(P, (b"a", b"aborted"))
    world.roll()
    world.write_in_transaction(Q, (b"b", b"open"))
    world.end_transaction(P, committed=False)
    clean(world)
    assert world.values()[0] == b"0"
    assert 1 not in world.values()
    assert aborted(world) == [(P, 1, 3)]


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_goes_past_its_horizon_once_its_records_are_gone(committed: bool) -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=committed)
    transaction(world, b"a", committed=True)
    clean(world)
    assert world.markers() == [1, 3]
    world.clock.advance_ms(RETENTION_MS - 1)
    clean(world)
    assert world.markers() == [1, 3]
    world.clock.advance_ms(1)
    clean(world)
    assert world.markers() == [3]


def test_a_marker_keeps_its_time() -> None:
    world = World(EAGER)
    start_ms = world.clock.now_ms()
    transaction(world, b"a", committed=True)
    transaction(world, b"a", committed=True)
    world.clock.advance_ms(100)
    clean(world)
    marker = next(header for header in world.headers() if header.base_offset == 1)
    assert marker.attributes & DELETE_HORIZON_FLAG
    assert marker.base_timestamp == start_ms + 100 + RETENTION_MS
    assert marker.max_timestamp == start_ms


def test_a_marker_stays_while_a_record_of_its_transaction_does() -> None:
    world = World(EAGER)
    transaction(world, b"a", b"b", committed=True)
    transaction(world, b"a", committed=True)
    for _ in range(3):
        clean_past_horizon(world)
    assert world.markers() == [2, 4]
    transaction(world, b"b", committed=True)
    for _ in range(3):
        clean_past_horizon(world)
    assert world.markers() == [4, next(o for o in world.markers() if o > 4)]


def test_a_marker_stays_while_an_empty_batch_of_its_transaction_does() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=False)
    for _ in range(3):
        clean_past_horizon(world)
    assert world.markers() == [1]
    assert aborted(world) == [(P, 0, 1)]
    before = state(world)
    world.forget(".snapshot", ".index")
    again = world.reopened()
    assert state(again) == before == [(P, 0, 0, 0, -1)]
    assert again.partition.last_stable_offset == again.log.end_offset


def test_entries_of_aborted_transactions_go_with_their_records() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=False)
    transaction(world, b"a", committed=True)
    assert aborted(world) == [(P, 0, 1)]
    clean(world)
    assert aborted(world) == []
    assert world.markers() == [1, 3]
    assert aborted(world.reopened()) == []


def test_an_entry_goes_though_nothing_else_changes_in_its_segment() -> None:
    """The records lay in another segment, and the marker is the producer's last."""
    world = World(EAGER)
    world.write_in_transaction(P, (b"a", b"1"), numbered=False)
    world.write((b"b", b"x" * 700))
    world.roll()
    world.end_transaction(P, committed=False)
    world.write((b"c", b"x" * 700))
    clean(world)
    assert world.markers() == [2]
    assert aborted(world) == []
    assert aborted(world.reopened()) == []


def test_entries_of_aborted_transactions_stay_with_their_records() -> None:
    """The last batch of a producer stays, empty; so the transaction that it belongs to is still an aborted one."""
    world = World(EAGER)
    transaction(world, b"a", committed=True)
    transaction(world, b"a", committed=False)
    clean(world)
    clean_past_horizon(world)
    assert aborted(world) == [(P, 2, 3)]
    assert aborted(world.reopened()) == [(P, 2, 3)]
    world.forget(".snapshot", ".index")
    assert aborted(world.reopened()) == [(P, 2, 3)]


def test_the_last_marker_of_a_bumped_epoch_stays() -> None:
    """Transactions of version 2 end with a marker of the next epoch, after which no batch holds it yet."""
    world = World(EAGER)
    for epoch in range(3):
        world.write_in_transaction(P, (b"a", b"%d" % epoch), epoch=epoch)
        world.end_transaction(P, committed=True, epoch=epoch + 1, coordinator_epoch=4)
    world.write((b"a", b"plain"))
    clean(world)
    clean_past_horizon(world)
    clean_past_horizon(world)
    assert world.markers() == [5]
    world.forget(".snapshot", ".index")
    assert state(world.reopened()) == [(P, 3, -1, 4, -1)]


def test_of_markers_without_records_the_last_stays() -> None:
    world = World(EAGER)
    for coordinator_epoch in range(4):
        world.end_transaction(P, committed=True, coordinator_epoch=coordinator_epoch)
    clean(world)
    clean_past_horizon(world)
    assert world.markers() == [3]
    world.end_transaction(P, committed=True, coordinator_epoch=9)
    clean(world)
    clean_past_horizon(world)
    assert world.markers() == [6]
    world.forget(".snapshot", ".index")
    assert state(world.reopened()) == [(P, 0, -1, 9, -1)]


def test_of_markers_whose_records_go_late_the_last_stays() -> None:
    """Each had a record until the producer was silent; a pass then finds no later marker in what is dirty."""
    world = World(EAGER)
    for key in (b"a", b"b", b"c"):
        world.write_in_transaction(P, (key, b"1"), numbered=False)
        world.end_transaction(P, committed=True, coordinator_epoch=3)
    clean(world)
    world = world.reopened()
    world.write((b"a", b"2"), (b"b", b"2"), (b"c", b"2"))
    for _ in range(3):
        clean_past_horizon(world)
    assert world.markers() == [5]
    world.forget(".snapshot", ".index")
    assert state(world.reopened()) == [(P, 0, -1, 3, -1)]


def test_the_marker_before_an_open_transaction_stays() -> None:
    world = World(EAGER)
    world.write_in_transaction(P, (b"a", b"0"))
    world.end_transaction(P, committed=True, coordinator_epoch=5)
    world.write((b"a", b"plain"))
    world.roll()
    opened = world.write_in_transaction(P, (b"a", b"open"))
    for _ in range(3):
        clean_past_horizon(world)
    assert world.markers() == [1]
    world.forget(".snapshot", ".index")
    assert state(world.reopened()) == [(P, 0, 1, 5, opened)]


def test_a_producer_that_was_forgotten_keeps_nothing() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=False)
    clean(world)
    world.clock.advance_ms(COMPACT.producer_id_expiration_ms)
    world.roll()
    assert state(world) == []
    clean(world)
    clean_past_horizon(world)
    clean_past_horizon(world)
    assert world.markers() == []
    assert aborted(world) == []


def test_a_damaged_marker_is_left_alone_and_its_entry_stays() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=False)
    transaction(world, b"a", committed=True)
    world.roll()
    segment = world.log.segments[0]
    at = next(position for position, header in segment.batches_by_time(-1) if header.base_offset == 1)
    world.files.flip_bit(segment.path, at + 45)
    clean(world)
    clean_past_horizon(world)
    clean_past_horizon(world)
    assert 1 in [header.base_offset for header in world.headers()]
    assert aborted(world) == [(P, 0, 1)]


def test_a_damaged_aborted_batch_is_left_alone() -> None:
    world = World(EAGER)
    transaction(world, b"a", committed=False)
    transaction(world, b"a", committed=True)
    world.roll()
    segment = world.log.segments[0]
    world.files.flip_bit(segment.path, 62)
    clean(world)
    clean_past_horizon(world)
    assert world.headers()[0].base_offset == 0
    assert world.markers() == [1, 3]
    assert aborted(world) == [(P, 0, 1)]


@pytest.mark.parametrize("numbered", [True, False])
def test_many_transactions_leave_a_small_log(numbered: bool) -> None:
    """What consumers under exactly-once do to their offsets' topic; there the coordinator writes, without numbers."""
    world = World(EAGER)
    for number in range(200):
        world.write_in_transaction(P, (b"offset", b"%d" % number), numbered=numbered)
        world.end_transaction(P, committed=number % 5 != 4)
    clean(world)
    clean_past_horizon(world)
    assert len(world.headers()) <= 8
    assert [record.value for record in world.committed() if record.key == b"offset"] == [b"198"]


def decided(world: World) -> World:
    """Three segments of transactions of two producers, to be compacted a second time, past the horizon."""
    for value in (b"1", b"2", b"3"):
        world.write_in_transaction(P, (b"a", value), (b"b", value))
        world.write_in_transaction(Q, (b"a", b"aborted"))
        world.end_transaction(P, committed=True)
        world.end_transaction(Q, committed=False)
        world.roll()
    world.compact()
    world.clock.advance_ms(RETENTION_MS)
    world.write_in_transaction(Q, (b"b", b"4"))
    world.end_transaction(Q, committed=True)
    world.roll()
    return world


def _count_calls() -> int:
    world = decided(World(EAGER))
    world.files.calls = 0
    world.cleaner.compact()
    return world.files.calls


@pytest.mark.parametrize("call", range(1, _count_calls() + 1))
def test_a_crash_at_any_file_operation_shows_nothing_aborted_and_loses_nothing(call: int) -> None:
    for seed in (None, 1, 2):
        world = decided(World(EAGER))
        known, first_markers = state(world), world.markers()
        world.files.fail_at(call, errno.EIO, times=10_000)
        world.cleaner.compact()
        world.files.crash(None if seed is None else random.Random(seed))
        again = world.reopened()
        assert {record.key: record.value for record in again.committed()} == {b"a": b"3", b"b": b"4"}
        assert state(again) == known
        again.compact()
        assert [record.value for record in again.committed()] == [b"3", b"4"]
        assert set(again.markers()) < set(first_markers)
        again.forget(".snapshot", ".index")
        assert state(again.reopened()) == known
