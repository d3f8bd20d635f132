"""Files that nobody uses are closed when many are open: synced first, never under a reader's hands."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import define, field

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.files import files as files_module
from engine.files.files import OsFiles
from engine.files.relief import FileRelief
from engine.log.log import LogConfig
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.engine.logs import batch
from tests.engine.partition.making import create

TOPIC = b"\1" * 16
MOST_OPEN = 8


@define
class Bench:
    """Partitions on a real disk with room for eight open files; what is to be called soon is called when told."""

    path: Path
    soon: list[Callable[[], object]] = field(factory=list)
    files: OsFiles = field(factory=lambda: OsFiles(most_open=MOST_OPEN))
    settle_workers: InlineWorkers = field(factory=InlineWorkers)
    rounds: SyncRounds = field(init=False)
    partitions: Partitions = field(init=False)
    relief: FileRelief = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rounds = SyncRounds(InlineWorkers(), lambda: None, settle_workers=self.settle_workers)
        self.partitions = Partitions(
            data_dir=str(self.path),
            files=self.files,
            clock=ManualClock(),
            workers=InlineWorkers(),
            rounds=self.rounds,
            call_later=lambda _, callback: self.soon.append(callback),
        )
        self.relief = FileRelief(self.files, self.partitions.logs, self.rounds.settle, self.call_later)

    def call_later(self, _: float, callback: Callable[[], object]) -> None:
        self.soon.append(callback)

    def make(self, count: int) -> list[Partition]:
        create(self.partitions, [PartitionSpec(TOPIC, index, LogConfig(), True, "t") for index in range(count)])
        return self.partitions.of_topic(TOPIC)

    def run_soon(self) -> None:
        while self.soon:
            self.soon.pop(0)()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def is_open(partition: Partition) -> bool:
    segment = partition.log.active_segment
    return segment is not None and segment.holds_file


def test_many_more_partitions_than_open_files_are_written_and_read(bench: Bench) -> None:
    partitions = bench.make(5 * MOST_OPEN)
    for value in range(3):
        for partition in partitions:
            partition.write(batch(1 + value))
            bench.rounds.start_round()
            assert bench.files.open_count <= MOST_OPEN
            bench.run_soon()
    assert [partition.log.end_offset for partition in partitions] == [6] * len(partitions)
    for partition in partitions:
        read = partition.read(0, 10_000, at_least_one=True).log_read
        assert read is not None
        assert len(read.regions[0].read()) == partition.log.size_bytes


def test_a_file_is_synced_before_it_is_closed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int]] = []
    sync, close = os.fdatasync, os.close
    monkeypatch.setattr(files_module.os, "fdatasync", lambda number: (told.append(("sync", number)), sync(number)))
    monkeypatch.setattr(files_module.os, "close", lambda number: (told.append(("close", number)), close(number)))
    partitions = bench.make(MOST_OPEN)
    for partition in partitions[:-1]:
        partition.write(batch())  # no round follows: nothing is synced
    opened = [
        segment.file_to_sync().fileno() for each in partitions if (segment := each.log.active_segment) is not None
    ]
    bench.run_soon()
    closed = [number for what, number in told if what == "close" and number in opened]
    assert closed
    for number in closed:
        assert told.index(("sync", number)) < told.index(("close", number))
    assert all(not partition.log.dirty for partition in partitions[:-1] if not is_open(partition))


def test_what_cannot_be_closed_yet_refuses_the_write_and_nothing_else(bench: Bench) -> None:
    bench.settle_workers.hold = True
    partitions = bench.make(MOST_OPEN + 1)
    for partition in partitions[:-1]:
        partition.write(batch())
    with pytest.raises(StorageError, match=r"log\.max\.open\.files=8"):
        partitions[-1].write(batch())
    assert partitions[-1].offline is None
    partitions[0].write(batch())
    bench.run_soon()
    bench.settle_workers.run_held()
    partitions[-1].write(batch())
    assert partitions[-1].log.end_offset == 1


def test_a_failed_sync_keeps_the_file_open_and_takes_its_partition_offline(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "I/O error")

    partitions = bench.make(MOST_OPEN)
    with monkeypatch.context() as patch:
        patch.setattr(files_module.os, "fdatasync", fail)
        for partition in partitions[:-1]:
            partition.write(batch())
        bench.soon.pop(0)()
    failed = [partition for partition in partitions if partition.offline is not None]
    assert failed
    assert all(is_open(partition) for partition in failed)


def test_who_reads_a_file_keeps_it(bench: Bench) -> None:
    partitions = bench.make(3 * MOST_OPEN)
    partitions[0].write(batch())
    bench.rounds.start_round()
    read = partitions[0].read(0, 10_000, at_least_one=True).log_read
    assert read is not None
    descriptor = read.regions[0].fileno()
    assert descriptor is not None
    for partition in partitions[1:]:
        partition.write(batch())
        bench.rounds.start_round()
        bench.run_soon()
    assert not is_open(partitions[0])
    assert len(os.pread(descriptor, 10_000, 0)) == read.size
    partitions[0].write(batch())
    again = partitions[0].log.active_segment
    assert again is not None
    assert again.file() is read.regions[0].file


def test_the_files_in_use_stay_and_the_others_go(bench: Bench) -> None:
    busy, *others = bench.make(4 * MOST_OPEN)
    opened = 0
    for partition in others:
        for one in (busy, partition):
            opened += not is_open(one) and one is busy
            one.write(batch())
        bench.rounds.start_round()
        bench.run_soon()
    assert opened <= 2


def test_a_thread_is_never_refused(bench: Bench) -> None:
    bench.settle_workers.hold = True
    partitions = bench.make(MOST_OPEN)
    for partition in partitions:
        partition.write(batch())
    segment = partitions[0].log.active_segment
    assert segment is not None
    opened: list[object] = []
    thread = threading.Thread(target=lambda: opened.append(bench.files.open(segment.path)))
    thread.start()
    thread.join()
    assert opened


def test_recovery_leaves_no_file_open(bench: Bench) -> None:
    partitions = bench.make(3)
    for partition in partitions:
        partition.write(batch())
    bench.rounds.start_round()
    files = OsFiles(most_open=MOST_OPEN)
    bench.partitions.files = files
    spec = PartitionSpec(TOPIC, 0, LogConfig(), True, "t")
    log = bench.partitions.open_log(spec, clean=False)
    assert log.end_offset == 1
    assert files.open_count == 0


def test_statistics_tell_how_many_are_open(bench: Bench) -> None:
    (partition,) = bench.make(1)
    partition.write(batch())
    assert bench.relief.statistics() == {"open": 1, "most_open": MOST_OPEN, "closed": 0}


def test_nobody_goes_round_for_everyone_who_is_refused(bench: Bench) -> None:
    bench.settle_workers.hold = True
    partitions, rounds = bench.make(10 * MOST_OPEN), 0

    def counted() -> Iterator[Partition]:
        nonlocal rounds
        rounds += 1
        return bench.partitions.logs()

    bench.relief._partitions = counted
    for partition in partitions[:MOST_OPEN]:
        partition.write(batch())
    for partition in partitions[MOST_OPEN:]:
        with pytest.raises(StorageError):
            partition.write(batch())
        for _ in range(len(bench.soon)):
            # A moment passes, but not so long that it would rest no more.
            callback = bench.soon.pop(0)
            if callback == bench.relief._wake:
                bench.soon.append(callback)
            else:
                callback()
    assert rounds <= 8


def test_after_a_rest_it_looks_again(bench: Bench) -> None:
    partitions = bench.make(MOST_OPEN + 1)
    for partition in partitions[:-1]:
        partition.write(batch())
    bench.rounds.start_round()
    reads = [partition.read(0, 10_000, at_least_one=True).log_read for partition in partitions[:-1]]
    with pytest.raises(StorageError):
        partitions[-1].write(batch())
    reads.clear()
    bench.run_soon()
    partitions[-1].write(batch())
    assert partitions[-1].log.end_offset == 1
