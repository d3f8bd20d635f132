"""Retention carried out: the start offset rises, the files go, the producers stay known."""

import errno

from attrs import evolve

from engine.log.log import LogConfig
from engine.records.layout import build_batch
from engine.workers import InlineWorkers
from tests.engine.cleaner.world import World
from tests.engine.partition.making import remove

CONFIG = LogConfig(segment_bytes=1000, retention_ms=1000, retention_bytes=-1)


def log_files(world: World) -> list[str]:
    return sorted(name for name in world.files.list(world.log.directory) if name.endswith(".log"))


def filled(config: LogConfig = CONFIG, segments: int = 3) -> World:
    """Sealed segments of two records each, and an active one."""
    world = World(config)
    for _ in range(segments):
        world.write((b"k", b"v"))
        world.write((b"k", b"v"))
        world.roll()
        world.clock.advance_ms(600)
    world.write((b"k", b"v"))
    return world


def test_old_segments_go_and_the_start_rises() -> None:
    world = filled()
    world.cleaner.retain()
    assert world.log.start_offset == 4
    assert log_files(world) == ["00000000000000000004.log", "00000000000000000006.log"]
    assert [record.offset for record in world.records()] == [4, 5, 6]
    assert world.errors == []


def test_the_start_survives_a_crash() -> None:
    world = filled()
    world.cleaner.retain()
    world.files.crash()
    assert world.reopened().log.start_offset == 4


def test_an_idle_active_segment_goes_too() -> None:
    world = filled()
    world.clock.advance_ms(5000)
    world.cleaner.retain()
    assert world.log.start_offset == world.log.end_offset == 7
    assert log_files(world) == ["00000000000000000007.log"]
    assert world.write((b"k", b"v")) == 7
    assert [record.offset for record in world.records()] == [7]


def test_the_end_survives_a_crash_when_all_went() -> None:
    world = filled()
    world.clock.advance_ms(5000)
    world.cleaner.retain()
    world.files.crash()
    again = world.reopened()
    assert (again.log.start_offset, again.log.end_offset) == (7, 7)


def test_producers_stay_known_when_all_went() -> None:
    world = World(CONFIG)
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    world.write((b"k", b"v"), **fields)
    world.clock.advance_ms(5000)
    world.cleaner.retain()
    world.files.crash()
    again = world.reopened()
    assert again.log.start_offset == 1
    assert [(p.producer_id, p.last_sequence) for p in again.log.producers()] == [(7, 0)]


def test_records_that_are_not_durable_stay() -> None:
    world = World(CONFIG)
    world.write((b"k", b"v"))
    world.partition.write(build_batch([(b"k", b"v")], timestamp_ms=world.clock.now_ms()))
    world.clock.advance_ms(5000)
    world.cleaner.retain()
    assert world.log.start_offset == 0


def test_a_record_that_arrives_after_the_look_saves_its_segment() -> None:
    world = filled()
    world.clock.advance_ms(5000)
    world.workers.hold = True
    world.cleaner.retain()
    world.write((b"k", b"v"))
    world.workers.hold = False
    world.workers.run_held()
    assert world.log.start_offset == 6
    assert [record.offset for record in world.records()] == [6, 7]


def test_size_is_bounded() -> None:
    world = filled(evolve(CONFIG, retention_ms=-1, retention_bytes=1))
    world.cleaner.retain()
    assert world.log.start_offset == 6


def test_a_segment_left_behind_by_a_deletion_goes() -> None:
    world = filled(evolve(CONFIG, cleanup_delete=False, cleanup_compact=True))
    world.log.start_offset = 4
    world.cleaner.retain()
    assert log_files(world)[0] == "00000000000000000004.log"


def test_a_deleted_topic_is_left_alone() -> None:
    world = filled()
    world.workers.hold = True
    world.cleaner.retain()
    remove(world.partitions, world.partition.topic_id)
    world.workers.run_held()
    assert world.cleaner.idle
    assert world.errors == []


def test_a_failure_is_told_and_the_next_time_succeeds() -> None:
    world = filled()
    world.files.fail_at(1, errno.EIO, only=frozenset({"unlink"}))
    world.cleaner.retain()
    assert len(world.errors) == 1
    assert world.cleaner.idle
    world.files.stop_failing()
    world.cleaner.retain()
    assert [record.offset for record in world.records()] == [4, 5, 6]


def test_compaction_does_not_hold_retention_up() -> None:
    world = filled()
    cleaner = world.make_cleaner(InlineWorkers(hold=True))
    cleaner.retain()
    assert world.log.start_offset == 4


def test_of_two_deletions_at_once_the_higher_start_holds() -> None:
    """A client deletes records while retention does: whichever writes last."""
    world = filled()
    lower, higher = world.log.delete_records_job(2), world.log.delete_records_job(4)
    for job in (higher, lower):
        job.run()
    for job in (higher, lower):
        job.finish()
        assert job.error is None
    world.files.crash()
    assert world.reopened().log.start_offset == 4
