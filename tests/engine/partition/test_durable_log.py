"""A log and its high watermark: nobody reads what is not durable, producers are told in order, a failed disk stops
writing alone."""

import errno

import pytest
from attrs import define, field

from engine.errors import (
    BrokerError,
    OffsetOutOfRange,
    RequestTimedOut,
    StorageError,
)
from engine.files.memory import MemoryFiles
from engine.partition.durable_log import DurableLog, Unattended
from engine.partition.partition import Partition, PartitionRead
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.engine.logs import DIRECTORY, batch, idempotent, memory_files, open_log

FOREVER = float("inf")


@define(slots=False)
class Bench(Unattended):
    """A partition on a disk in memory whose syncs happen when told."""

    files: MemoryFiles = field(factory=memory_files)
    workers: InlineWorkers = field(factory=lambda: InlineWorkers(hold=True))
    offline: list[BaseException] = field(factory=list)
    synced: int = 0
    rounds: SyncRounds = field(init=False)
    partition: Partition = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rounds = SyncRounds(self.workers, lambda: None)
        self.partition = self.open()

    def open(self, **options: object) -> Partition:
        return Partition(
            b"\1" * 16,
            0,
            open_log(self.files),
            self.rounds,
            keeper=self,
            **options,  # type: ignore[arg-type]
        )

    def after_sync(self, _log: DurableLog) -> None:
        self.synced += 1

    def went_offline(self, _log: DurableLog, error: BaseException) -> None:
        self.offline.append(error)

    def sync(self) -> None:
        self.rounds.start_round()
        self.workers.run_held()

    def fail_sync(self) -> None:
        self.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
        self.sync()
        self.files.stop_failing()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def size(read: PartitionRead) -> int:
    return 0 if read.log_read is None else read.log_read.size


def wait(partition: Partition, offset: int, told: list[object], deadline: float = FOREVER) -> None:
    partition.when_durable_to(offset, deadline, lambda error: told.append(error or offset))


# -- the high watermark


def test_a_record_is_not_readable_before_it_is_synced(bench: Bench) -> None:
    bench.partition.write(batch(3))
    before = bench.partition.read(0, 1000, at_least_one=True)
    assert (size(before), before.high_watermark) == (0, 0)
    assert bench.partition.has_unsynced
    bench.sync()
    after = bench.partition.read(0, 1000, at_least_one=True)
    assert (size(after) > 0, after.high_watermark, after.last_stable_offset) == (True, 3, 3)
    assert not bench.partition.has_unsynced


def test_what_is_written_during_a_sync_waits_for_the_next(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.rounds.start_round()
    bench.partition.write(batch())
    bench.workers.run_held(1)
    assert bench.partition.high_watermark.offset == 1
    bench.workers.run_held(1)
    assert bench.partition.high_watermark.offset == 2
    assert bench.synced == 2


def test_with_flush_mode_os_a_record_is_readable_at_once(bench: Bench) -> None:
    bench.partition.sync_writes = False
    bench.partition.write(batch(2))
    assert size(bench.partition.read(0, 1000, at_least_one=True)) > 0
    assert bench.partition.high_watermark.offset == 2
    bench.sync()
    assert bench.synced == 0, "the operating system writes when it likes"


def test_with_flush_mode_os_it_is_synced_where_a_snapshot_is_due(bench: Bench) -> None:
    bench.partition.sync_writes = False
    bench.partition.write(batch(2))
    bench.partition.log.request_snapshot()
    bench.partition.write(batch(2))
    bench.sync()
    assert bench.synced == 1
    assert bench.partition.log.durable_end.offset == 4


def test_nobody_reads_past_the_high_watermark(bench: Bench) -> None:
    """Who asks there has been told by an earlier leader that there is something, or guesses; it waits."""
    bench.partition.write(batch(2))
    assert bench.partition.read(1, 1000, at_least_one=True).log_read is None, "it is there, and not yet to be seen"
    with pytest.raises(OffsetOutOfRange):
        bench.partition.read(3, 1000, at_least_one=True)


def test_a_partition_opened_again_serves_all_that_was_recovered(bench: Bench) -> None:
    bench.partition.write(batch(2))
    bench.sync()
    assert bench.open().high_watermark.offset == 2


def test_a_duplicate_is_answered_and_needs_no_sync(bench: Bench) -> None:
    first = bench.partition.write(idempotent(0))
    bench.sync()
    again = bench.partition.write(idempotent(0))
    assert (again.base_offset, again.duplicate) == (first.base_offset, True)
    assert bench.rounds.idle()


def test_a_duplicate_of_what_is_not_yet_durable_waits_too(bench: Bench) -> None:
    bench.partition.write(idempotent(0))
    again = bench.partition.write(idempotent(0))
    told: list[object] = []
    wait(bench.partition, again.last_offset, told)
    assert told == []
    bench.sync()
    assert told == [0]


# -- producers that wait


def test_producers_are_told_in_the_order_of_their_records(bench: Bench) -> None:
    told: list[object] = []
    for offset in range(4):
        bench.partition.write(batch())
        wait(bench.partition, offset, told)
    assert told == []
    bench.sync()
    assert told == [0, 1, 2, 3]


def test_a_producer_is_told_at_once_what_is_durable_already(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.sync()
    told: list[object] = []
    wait(bench.partition, 0, told)
    assert told == [0]


def test_who_has_waited_too_long_is_told_and_the_others_wait_on(bench: Bench) -> None:
    told: list[object] = []
    bench.partition.write(batch(2))
    wait(bench.partition, 0, told, deadline=5.0)
    wait(bench.partition, 1, told, deadline=9.0)
    late = RequestTimedOut("late")
    bench.partition.expire_waiters(5.0, late)
    assert told == [late]
    bench.sync()
    assert told == [late, 1]
    assert bench.partition.statistics()["waiters"] == 0


# -- a failing disk


def test_a_failed_sync_takes_the_partition_offline_for_writing_alone(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.sync()
    told: list[BrokerError | None] = []
    bench.partition.write(batch())
    bench.partition.when_durable_to(1, FOREVER, told.append)
    bench.fail_sync()
    assert isinstance(told[0], StorageError)
    assert len(bench.offline) == 1
    with pytest.raises(StorageError, match="offline"):
        bench.partition.write(batch())
    read = bench.partition.read(0, 1000, at_least_one=True)
    assert (size(read) > 0, read.high_watermark) == (True, 1)


def test_who_asks_while_it_is_offline_is_told(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.fail_sync()
    told: list[BrokerError | None] = []
    bench.partition.when_durable_to(0, FOREVER, told.append)
    assert isinstance(told[0], StorageError)


def test_a_later_sync_does_not_make_a_failed_one_good(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.fail_sync()
    bench.sync()
    assert bench.partition.high_watermark.offset == 0


def test_once_verified_it_takes_records_again_and_shows_those_it_had(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.fail_sync()
    bench.partition.log.reverify()
    bench.partition.bring_online()
    assert bench.partition.high_watermark.offset == 1
    assert bench.partition.write(batch()).base_offset == 1


def test_a_write_that_fails_and_cannot_be_undone_takes_it_offline(bench: Bench) -> None:
    bench.partition.write(batch())
    bench.files.fail_at(1, errno.EIO, times=10, only=frozenset({"write", "truncate"}))
    with pytest.raises(StorageError):
        bench.partition.write(batch())
    bench.files.stop_failing()
    assert bench.partition.offline is not None
    assert len(bench.offline) == 1


# -- watchers


def test_a_watcher_is_told_how_many_bytes_became_readable(bench: Bench) -> None:
    added: list[int] = []
    bench.partition.watch(added.append)
    records = batch(2)
    bench.partition.write(records)
    assert added == []
    bench.sync()
    assert added == [len(records)]
    bench.partition.unwatch(added.append)
    bench.partition.unwatch(added.append)
    bench.partition.write(records)
    bench.sync()
    assert added == [len(records)]


def test_a_watcher_may_leave_while_it_is_told(bench: Bench) -> None:
    told: list[str] = []

    def once(_: int) -> None:
        told.append("once")
        bench.partition.unwatch(once)

    bench.partition.watch(once)
    bench.partition.watch(lambda _: told.append("other"))
    bench.partition.write(batch())
    bench.sync()
    assert told == ["once", "other"]


# -- the end


def test_a_deleted_partition_tells_everybody_and_ignores_its_last_sync(bench: Bench) -> None:
    told: list[BrokerError | None] = []
    added: list[int] = []
    bench.partition.write(batch())
    bench.partition.when_durable_to(0, FOREVER, told.append)
    bench.partition.watch(added.append)
    bench.rounds.start_round()
    bench.partition.remove()
    bench.workers.run_held()
    assert isinstance(told[0], StorageError)
    assert added == [0]
    assert bench.synced == 0
    with pytest.raises(StorageError, match="deleted"):
        bench.partition.write(batch())


def test_statistics_show_offsets_and_who_waits(bench: Bench) -> None:
    records = batch(2)
    bench.partition.write(records)
    wait(bench.partition, 1, [])
    assert bench.partition.statistics() == {
        "start_offset": 0,
        "high_watermark": 0,
        "end_offset": 2,
        "size_bytes": len(records),
        "waiters": 1,
        "watchers": 0,
    }


def test_a_removed_partition_whose_files_are_gone_disturbs_no_round() -> None:
    bench = Bench()
    bench.partition.write(batch())
    bench.sync()
    bench.partition.write(batch())
    bench.partition.remove()
    bench.partition.log.close(clean=False)
    bench.files.remove_tree(DIRECTORY)
    bench.sync()
    assert bench.rounds.idle()
    assert bench.offline == []
