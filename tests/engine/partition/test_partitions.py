"""The partitions of a node: made, configured, removed, closed, and brought back after their disk failed."""

import errno
import gc
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import define, evolve, field

from engine.clock import ManualClock
from engine.errors import BrokerError, RecordTooLarge, RequestTimedOut, StorageError
from engine.files.files import OsFiles
from engine.files.memory import MemoryFiles
from engine.log.log import LogConfig
from engine.partition.partition import Partition
from engine.partition.partitions import REVERIFY_DELAY_S, Partitions, PartitionSpec
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.engine.logs import batch, memory_files
from tests.engine.partition.making import create, remove

TOPIC, OTHER = b"\1" * 16, b"\2" * 16


def specs(count: int, topic_id: bytes = TOPIC, config: LogConfig | None = None) -> list[PartitionSpec]:
    return [PartitionSpec(topic_id, index, config or LogConfig(), True, "t") for index in range(count)]


@define
class Bench:
    """Partitions on a disk in memory; background work runs at once, delayed calls when told."""

    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=ManualClock)
    workers: InlineWorkers = field(factory=InlineWorkers)
    later: list[tuple[float, Callable[[], object]]] = field(factory=list)
    errors: list[str] = field(factory=list)
    rounds: SyncRounds = field(init=False)
    partitions: Partitions = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rounds = SyncRounds(InlineWorkers(), lambda: None)
        self.partitions = self.open()

    def open(self) -> Partitions:
        return Partitions(
            data_dir="/data",
            files=self.files,
            clock=self.clock,
            workers=self.workers,
            rounds=self.rounds,
            call_later=lambda delay_s, callback: self.later.append((delay_s, callback)),
            log_error=self.errors.append,
        )

    def one(self) -> Partition:
        create(self.partitions, specs(1))
        (partition,) = self.partitions.of_topic(TOPIC)
        return partition

    def write(self, partition: Partition, count: int = 1) -> None:
        partition.write(batch(count))
        self.rounds.start_round()

    def fail_sync(self, partition: Partition) -> None:
        partition.write(batch())
        self.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
        self.rounds.start_round()
        self.files.stop_failing()

    def run_later(self) -> None:
        ((delay_s, callback),) = self.later
        assert delay_s == REVERIFY_DELAY_S
        self.later.clear()
        callback()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_partitions_are_found_by_topic_and_index(bench: Bench) -> None:
    create(bench.partitions, [*specs(2), *specs(1, OTHER)])
    found = bench.partitions.get(TOPIC, 1)
    assert found is not None
    assert (found.topic_id, found.index) == (TOPIC, 1)
    assert [bench.partitions.get(TOPIC, index) for index in (-1, 2)] == [None, None]
    assert bench.partitions.get(b"\3" * 16, 0) is None
    assert len(list(bench.partitions)) == 3


def test_partitions_are_added_to_those_that_are_there(bench: Bench) -> None:
    create(bench.partitions, specs(1))
    create(bench.partitions, specs(3)[1:])
    assert [partition.index for partition in bench.partitions.of_topic(TOPIC)] == [0, 1, 2]


def test_an_empty_partition_has_no_files(bench: Bench) -> None:
    partition = bench.one()
    assert bench.files.used_bytes() == 0
    bench.write(partition)
    assert bench.files.used_bytes() > 0


def test_records_are_there_after_opening_again(bench: Bench) -> None:
    bench.write(bench.one(), 3)
    again = bench.open()
    spec = specs(1)[0]
    assert again.add(spec, again.open_log(spec, clean=False)).high_watermark.offset == 3


def test_a_clean_close_lets_the_next_start_skip_recovery(bench: Bench) -> None:
    bench.write(bench.one(), 3)
    bench.partitions.close(clean=True)
    log = bench.open().open_log(specs(1)[0], clean=True)
    assert (log.end_offset, log.recovery.scanned_bytes) == (3, 0)


def test_a_changed_configuration_is_in_force_at_once(bench: Bench) -> None:
    partition = bench.one()
    bench.write(partition)
    bench.partitions.configure(TOPIC, evolve(LogConfig(), max_message_bytes=10), sync_writes=False)
    with pytest.raises(RecordTooLarge):
        partition.write(batch())
    bench.partitions.configure(TOPIC, LogConfig(), sync_writes=False)
    partition.write(batch())
    assert partition.high_watermark.offset == 2, "flush.mode=os: readable without a sync"


def test_a_removed_topic_is_not_served_and_its_files_go(bench: Bench) -> None:
    partition = bench.one()
    bench.write(partition)
    assert remove(bench.partitions, TOPIC) == [partition]
    assert bench.partitions.get(TOPIC, 0) is None
    with pytest.raises(StorageError, match="deleted"):
        partition.write(batch())
    for _ in range(2):
        bench.partitions.remove_files([TOPIC])
        assert bench.files.used_bytes() == 0
    assert remove(bench.partitions, TOPIC) == []


def test_no_file_of_a_removed_topic_stays_open(tmp_path: Path) -> None:
    files, workers = OsFiles(), InlineWorkers()
    rounds = SyncRounds(workers, lambda: None)
    partitions = Partitions(str(tmp_path), files, ManualClock(), workers, rounds, lambda *_: None)
    create(partitions, specs(1, config=LogConfig(segment_bytes=100)))
    (partition,) = partitions.of_topic(TOPIC)
    for _ in range(5):
        partition.write(batch())
    # Five segments were begun and none is synced yet: the log has their files to sync.
    segments = partition.log.segments
    assert len(segments) == 5
    remove(partitions, TOPIC)
    # The cleaner was about to look at them and asks for their files again.
    for segment in segments[:-1]:
        segment.file()
    partitions.remove_files([TOPIC])
    assert files.open_count == 0
    assert not Path(partitions.directory(TOPIC)).exists()


def test_a_job_that_failed_keeps_no_file_open(tmp_path: Path) -> None:
    files, workers = OsFiles(), InlineWorkers()
    rounds = SyncRounds(workers, lambda: None)
    partitions = Partitions(str(tmp_path), files, ManualClock(), workers, rounds, lambda *_: None)
    create(partitions, specs(1, config=LogConfig(segment_bytes=100)))
    (partition,) = partitions.of_topic(TOPIC)
    for _ in range(3):
        partition.write(batch())
    rounds.start_round()
    partition.write(batch())
    partition.log.request_snapshot()
    jobs = partition.log.maintenance()
    remove(partitions, TOPIC)
    partitions.remove_files([TOPIC])
    gc.disable()
    try:
        partitions.run_jobs(partition, jobs)
        assert any(job.error is not None for job in jobs)
        del jobs, partition
        assert files.open_count == 0
    finally:
        gc.enable()


def test_a_failed_partition_comes_back_after_its_tail_was_verified(bench: Bench) -> None:
    partition = bench.one()
    bench.write(partition)
    bench.fail_sync(partition)
    assert partition.offline is not None
    assert "t-0 is offline" in bench.errors[0]
    bench.run_later()
    assert partition.offline is None
    assert partition.high_watermark.offset == 2
    bench.write(partition)
    assert partition.high_watermark.offset == 3
    assert bench.partitions.idle()


def test_verifying_is_tried_again_until_it_works(bench: Bench) -> None:
    partition = bench.one()
    bench.write(partition)
    bench.fail_sync(partition)
    for _ in range(3):
        bench.files.fail_at(1, errno.EIO, times=100)
        bench.run_later()
        bench.files.stop_failing()
        assert partition.offline is not None
    bench.run_later()
    assert partition.offline is None


def test_a_failure_of_one_partition_leaves_the_others_alone(bench: Bench) -> None:
    create(bench.partitions, specs(2))
    bad, good = bench.partitions.of_topic(TOPIC)
    bench.fail_sync(bad)
    bench.write(good)
    assert good.high_watermark.offset == 1


def test_a_deleted_topic_is_not_verified(bench: Bench) -> None:
    partition = bench.one()
    bench.fail_sync(partition)
    remove(bench.partitions, TOPIC)
    bench.run_later()
    assert bench.later == []


def test_background_work_holds_off_closing(bench: Bench) -> None:
    bench.workers.hold = True
    partition = bench.one()
    bench.fail_sync(partition)
    bench.run_later()
    assert not bench.partitions.idle()
    bench.workers.run_held()
    assert bench.partitions.idle()


def test_failed_background_work_is_told_and_the_partition_goes_on(bench: Bench) -> None:
    partition = bench.one()
    bench.write(partition)
    partition.log.request_snapshot()
    bench.files.fail_at(1, errno.EIO, only=frozenset({"rename"}))
    bench.partitions.run_jobs(partition, partition.log.maintenance())
    bench.files.stop_failing()
    assert "background work on t-0 failed" in bench.errors[0]
    assert partition.offline is None
    bench.write(partition)
    assert partition.high_watermark.offset == 2


def test_producers_that_waited_too_long_are_told(bench: Bench) -> None:
    partition = bench.one()
    partition.write(batch())
    told: list[BrokerError | None] = []
    partition.when_durable_to(0, 5.0, told.append)
    bench.partitions.expire_waiters(4.9)
    assert told == []
    bench.partitions.expire_waiters(5.0)
    assert isinstance(told[0], RequestTimedOut)


def test_a_partition_that_is_offline_is_not_closed_as_if_it_were_well(bench: Bench) -> None:
    partition = bench.one()
    bench.write(partition)
    bench.fail_sync(partition)
    with pytest.raises(StorageError, match="offline and not verified again: t-0"):
        bench.partitions.close(clean=True)
    log = bench.open().open_log(specs(1)[0], clean=False)
    assert log.end_offset >= 1
