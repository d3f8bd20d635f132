"""Compaction carried out on partitions: when it is due, what readers see, what failures leave."""

import errno
import random

import pytest
from attrs import evolve

from engine.cleaner.dirtiness import FILE_NAME, read_checkpoint
from engine.cleaner.offset_map import ENTRY_OVERHEAD
from engine.records.layout import build_batch
from engine.workers import InlineWorkers
from tests.engine.cleaner.world import COMPACT, World
from tests.engine.logs import read_at
from tests.engine.partition.making import remove


def dirty(world: World) -> World:
    """a and b three times over, in three sealed segments; then an active one."""
    for value in (b"1", b"2", b"3"):
        world.write((b"a", value), (b"b", value))
        world.roll()
    world.write((b"c", b"4"))
    return world


def test_the_last_value_of_every_key_stays_at_its_offset() -> None:
    world = dirty(World())
    world.compact()
    assert world.values() == {4: b"3", 5: b"3", 6: b"4"}
    assert world.log.end_offset == 7


def test_the_active_segment_is_not_touched() -> None:
    world = dirty(World())
    world.write((b"c", b"5"))
    world.compact()
    assert world.values() == {4: b"3", 5: b"3", 6: b"4", 7: b"5"}


def test_a_read_inside_a_gap_gets_the_next_batch() -> None:
    world = dirty(World())
    world.compact()
    for offset in range(6):
        assert read_at(world.log, offset) == read_at(world.log, 5)


def test_a_reader_that_holds_the_old_files_goes_on() -> None:
    world = dirty(World())
    before = world.log.read(0, 10_000, world.log.end, at_least_one=True)
    data = b"".join(region.read() for region in before.regions)
    world.compact()
    assert b"".join(region.read() for region in before.regions) == data


def test_times_are_found_in_new_segments() -> None:
    world = World()
    for value in (b"1", b"2", b"3"):
        world.write((b"a", value))
        world.clock.advance_ms(1000)
        world.write((b"b", value))
        world.clock.advance_ms(1000)
        world.roll()
    world.compact()
    start_ms = world.clock.now_ms() - 6000
    upto = world.log.end
    found = [world.log.find_by_time(start_ms + at_ms, upto) for at_ms in (0, 4000, 4001, 5000, 5001)]
    assert [each.offset if each else None for each in found] == [4, 4, 5, 5, None]
    latest = world.log.find_max_timestamp(upto)
    assert latest is not None
    assert (latest.offset, latest.timestamp_ms) == (5, start_ms + 5000)


def test_times_are_found_where_the_broker_set_them() -> None:
    world = World(evolve(COMPACT, timestamp_type="LogAppendTime"))
    world.write((b"a", b"1"), (b"b", b"1"))
    world.write((b"a", b"2"))
    world.roll()
    world.compact()
    found = world.log.find_by_time(world.clock.now_ms(), world.log.end)
    assert found is not None
    assert found.offset == 1


def test_a_segment_that_was_sealed_after_the_last_snapshot_does_not_wait_for_a_write() -> None:
    world = dirty(World())
    world.compact()
    world.write((b"a", b"5"), (b"b", b"5"))
    world.log.request_snapshot()
    world.partitions.run_jobs(world.partition, world.log.maintenance())
    world.log.roll()
    world.compact()
    world.compact()
    assert world.values() == {6: b"4", 7: b"5", 8: b"5"}


def test_below_the_dirty_ratio_nothing_happens() -> None:
    world = dirty(World())
    world.compact()
    world.write((b"a", b"5"))
    world.roll()
    world.log.config = evolve(COMPACT, min_cleanable_dirty_ratio=0.9)
    world.compact()
    assert world.cleaner.statistics()["passes"] == 1
    world.log.config = evolve(COMPACT, min_cleanable_dirty_ratio=0.1)
    world.compact()
    assert world.cleaner.statistics()["passes"] == 2
    assert world.values() == {5: b"3", 6: b"4", 7: b"5"}


def test_other_policies_are_not_compacted() -> None:
    world = dirty(World(evolve(COMPACT, cleanup_compact=False, cleanup_delete=True)))
    world.compact()
    assert len(world.records()) == 7


def test_records_that_are_not_durable_hide_nothing() -> None:
    world = World()
    world.write((b"a", b"1"))
    world.roll()
    world.partition.write(build_batch([(b"a", b"2")], timestamp_ms=world.clock.now_ms()))
    world.log.roll()
    world.compact()
    assert world.values()[0] == b"1"


def test_an_idle_active_segment_past_the_longest_lag_is_compacted() -> None:
    world = World(evolve(COMPACT, max_compaction_lag_ms=1000))
    world.write((b"a", b"1"))
    world.write((b"a", b"2"))
    world.compact()
    assert len(world.records()) == 2
    world.clock.advance_ms(1001)
    world.compact()
    world.compact()
    assert world.values() == {1: b"2"}


def test_young_records_wait() -> None:
    world = World(evolve(COMPACT, min_compaction_lag_ms=1000))
    dirty(world)
    world.compact()
    assert len(world.records()) == 7
    world.clock.advance_ms(1000)
    world.compact()
    assert len(world.records()) == 3


def test_a_tombstone_is_seen_for_its_time_and_then_goes() -> None:
    world = World()
    world.write((b"a", b"1"))
    world.write((b"a", None))
    world.roll()
    world.compact()
    assert world.values() == {1: None}
    world.clock.advance_ms(999)
    world.write((b"b", b"1"))
    world.roll()
    world.compact()
    assert world.values() == {1: None, 2: b"1"}
    world = world.reopened()
    world.clock.advance_ms(1)
    world.write((b"b", b"2"))
    world.roll()
    world.compact()
    assert world.values() == {3: b"2"}


def test_a_restart_goes_on_where_it_was() -> None:
    world = dirty(World())
    world.compact()
    again = world.reopened()
    again.compact()
    assert again.cleaner.statistics()["passes"] == 0
    assert read_checkpoint(again.files, again.log.directory) == 6


def test_a_damaged_checkpoint_means_from_the_start() -> None:
    world = dirty(World())
    world.compact()
    world.files.flip_bit(f"{world.log.directory}/{FILE_NAME}", 3)
    again = world.reopened()
    again.compact()
    assert again.cleaner.statistics()["passes"] == 1
    assert again.values() == {4: b"3", 5: b"3", 6: b"4"}


def test_a_small_map_takes_several_passes() -> None:
    world = World()
    world.map_bytes = 3 * ENTRY_OVERHEAD
    world.cleaner = world.make_cleaner()
    for value in (b"1", b"2"):
        for key in range(10):
            world.write((b"%d" % key, value))
        world.roll()
    world.compact()
    assert sorted(world.values()) == list(range(10, 20))
    assert world.cleaner.statistics()["passes"] > 3


def test_idempotent_producers_go_on_after_a_restart_without_snapshots() -> None:
    world = World()
    for sequence in range(3):
        world.write((b"a", b"%d" % sequence), producer_id=7, producer_epoch=1, base_sequence=sequence)
    world.write((b"a", b"other"))
    world.roll()
    world.compact()
    assert world.values() == {3: b"other"}
    for name in world.files.list(world.log.directory):
        if name.endswith(".snapshot"):
            world.files.unlink(f"{world.log.directory}/{name}")
    again = world.reopened()
    assert [(p.producer_id, p.epoch, p.last_sequence) for p in again.log.producers()] == [(7, 1, 2)]
    assert again.log.append(
        build_batch([(b"a", b"2")], timestamp_ms=0, producer_id=7, producer_epoch=1, base_sequence=2), 0
    ).duplicate


def test_the_whole_log_can_be_scanned_after_compaction() -> None:
    world = dirty(World())
    world.compact()
    for name in world.files.list(world.log.directory):
        if name.endswith((".snapshot", ".index")):
            world.files.unlink(f"{world.log.directory}/{name}")
    assert world.reopened().values() == {4: b"3", 5: b"3", 6: b"4"}


def test_a_full_disk_leaves_the_log_as_it_was() -> None:
    world = dirty(World())
    world.files.capacity_bytes = world.files.used_bytes()
    world.cleaner.compact()
    assert len(world.errors) == 1
    assert len(world.records()) == 7
    assert world.partition.offline is None
    world.errors.clear()
    world.files.capacity_bytes = None
    world.compact()
    assert len(world.records()) == 3


def test_a_damaged_segment_is_told_once_and_left_alone() -> None:
    world = dirty(World())
    world.files.flip_bit(world.log.segments[0].path, 0, 7)
    for _ in range(3):
        world.cleaner.compact()
    assert len(world.errors) == 1
    assert world.cleaner.statistics()["damaged"] == 1


def test_a_batch_with_a_wrong_checksum_is_carried_over() -> None:
    world = dirty(World())
    segment = world.log.segments[0]
    world.files.flip_bit(segment.path, segment.size - 1)
    damaged = read_at(world.log, 0)
    world.compact()
    assert read_at(world.log, 0) == damaged
    assert read_at(world.log, 2) == read_at(world.log, 5)


def test_records_deleted_meanwhile_do_not_come_back() -> None:
    world = dirty(World())
    held = InlineWorkers(hold=True)
    cleaner = world.make_cleaner(held)
    cleaner.compact()
    held.run_held(3)
    world.log.delete_records(6)
    while held.held:
        held.run_held()
    assert cleaner.idle
    assert world.log.start_offset == 6
    assert world.values() == {6: b"4"}
    assert world.errors == []
    assert world.reopened().values() == {6: b"4"}


def test_a_deletion_during_the_commit_waits_for_the_files() -> None:
    world = dirty(World())
    world.workers.hold = True
    cleaner = world.make_cleaner(InlineWorkers())
    cleaner.compact()
    assert len(world.workers.held) == 1, "the commit"
    deletion = world.log.delete_records_job(5)
    world.workers.run_held(1)
    deletion.run()
    deletion.finish()
    world.workers.hold = False
    world.workers.run_held()
    assert cleaner.idle
    assert world.values() == {4: b"3", 5: b"3", 6: b"4"}
    assert world.log.start_offset == 5
    cleaner.retain()
    assert world.reopened().values()[6] == b"4"


def test_a_deleted_topic_ends_its_pass() -> None:
    world = dirty(World())
    held = InlineWorkers(hold=True)
    cleaner = world.make_cleaner(held)
    cleaner.compact()
    held.run_held(2)
    remove(world.partitions, world.partition.topic_id)
    world.partitions.remove_files([world.partition.topic_id])
    while held.held:
        held.run_held()
    assert cleaner.idle
    assert world.errors == []


def _count_calls() -> int:
    world = dirty(World())
    world.files.calls = 0
    world.cleaner.compact()
    return world.files.calls


CALLS = _count_calls()


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_a_crash_at_any_file_operation_loses_nothing(call: int) -> None:
    for seed in (None, 1, 2):
        world = dirty(World())
        world.files.fail_at(call, errno.EIO, times=10_000)
        world.cleaner.compact()
        world.files.crash(None if seed is None else random.Random(seed))
        again = world.reopened()
        assert again.values().items() >= {4: b"3", 5: b"3", 6: b"4"}.items()
        assert again.log.end_offset == 7
        again.compact()
        assert again.values() == {4: b"3", 5: b"3", 6: b"4"}


@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_an_error_at_any_file_operation_loses_nothing(call: int) -> None:
    world = dirty(World())
    world.files.fail_at(call, errno.EIO)
    world.cleaner.compact()
    world.files.stop_failing()
    if world.partition.offline is not None:
        world.log.reverify()
        world.partition.bring_online()
    assert world.values().items() >= {4: b"3", 5: b"3", 6: b"4"}.items()
    world.errors.clear()
    world.compact()
    assert world.values() == {4: b"3", 5: b"3", 6: b"4"}
