"""Partitions, rounds and a journal together, on a disk that loses what was not synced: what is acknowledged stays."""

import contextlib
import errno
import struct
from collections.abc import Callable

import pytest
from crc32c import crc32c

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.files.files import File
from engine.files.memory import MemoryFile, MemoryFiles
from engine.journal import format as journal_format
from engine.log.log import LogConfig
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.sync import RoundSync, SyncRounds
from engine.records.layout import build_batch
from engine.workers import InlineWorkers
from tests.engine.journals import MemoryDevice, open_journal
from tests.engine.logs import NOW_MS, batch, memory_files, open_log, read_all, stored, sync
from tests.engine.partition.making import create

TOPIC = b"\x0a" * 16


class World:
    """Partitions of one topic; a second one on the same files is what a restart finds."""

    def __init__(
        self,
        files: MemoryFiles | None = None,
        count: int = 1,
        *,
        clean: bool = False,
        whole: Callable[[], None] | None = None,
        hold_settling: bool = False,
    ) -> None:
        self.files = files or memory_files()
        self.device = MemoryDevice(self.files)
        self.journal = open_journal(self.files, self.device, started=False, clean=clean)
        self.jobs = InlineWorkers()
        self.settling = InlineWorkers(hold=hold_settling)
        self.rounds = SyncRounds(InlineWorkers(), lambda: None, RoundSync(1, whole), self.journal, self.settling)
        self.later: list[Callable[[], object]] = []
        self.partitions = Partitions(
            data_dir="/data",
            files=self.files,
            clock=ManualClock(NOW_MS),
            workers=self.jobs,
            rounds=self.rounds,
            call_later=lambda _, callback: self.later.append(callback),
            journal=self.journal,
        )
        for number in range(count):
            spec = PartitionSpec(TOPIC, number, LogConfig(), True, "t")
            self.partitions.add(spec, self.partitions.open_log(spec, clean=clean))
        self.journal.start(self.rounds.settle)
        self.all = self.partitions.of_topic(TOPIC)

    def write(self, partition: Partition, value: bytes = b"v") -> bool:
        """Whether the record was acknowledged."""
        told: list[object] = []
        result = partition.write(build_batch([(b"k", value)], timestamp_ms=NOW_MS))
        partition.when_durable_to(result.last_offset, float("inf"), told.append)
        self.rounds.start_round()
        return told == [None]

    def after_a_crash(self) -> "World":
        self.files.crash()
        return World(self.files, len(self.all))


def memory_file(file: File) -> MemoryFile:
    assert isinstance(file, MemoryFile)
    return file


def lose_pages(file: File) -> None:
    """The kernel could not write them, and has dropped them since."""
    content = memory_file(file)._content
    content.pending.clear()
    content.data[:] = content.durable


def values(partition: Partition) -> list[bytes]:
    return [data[-3:-1] for data in read_all(partition.log)]


def test_a_ticket_that_a_roll_overtakes_leaves_the_old_segment_to_be_synced() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    sync(log)
    log.append(batch(), 0)
    slow = log.capture_sync()
    slow.run()
    log.append(batch(), 0)
    log.roll()
    log.append(batch(), 0)
    log.synced(slow)
    sync(log)
    assert log.durable_end.offset == 4
    files.crash()
    assert open_log(files).end_offset == 4


def test_a_ticket_that_a_roll_overtakes_leaves_the_directory_to_be_synced() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    slow = log.capture_sync()
    slow.run()
    log.roll()
    log.append(batch(), 0)
    log.synced(slow)
    sync(log)
    files.crash()
    assert open_log(files).end_offset == 2


def test_a_roll_while_its_log_is_settled_loses_nothing() -> None:
    world = World(hold_settling=True)
    (partition,) = world.all
    while not world.settling.held:
        assert world.write(partition, b"v" * 3000)
    job, done = world.settling.held.popleft()
    outcome = job()
    assert world.write(partition, b"v" * 3000)
    world.jobs.hold = True
    partition.log.roll()
    done(outcome, None)
    assert world.write(partition)
    end = partition.log.end_offset
    assert world.after_a_crash().all[0].log.end_offset == end


def test_with_an_offline_partition_no_shutdown_is_clean() -> None:
    world = World()
    (partition,) = world.all
    assert [world.write(partition) for _ in range(5)] == [True] * 5
    assert partition.log.settled_end.offset < partition.log.durable_end.offset == 5
    world.files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    partition.log.request_snapshot()
    world.partitions.run_jobs(partition, partition.log.maintenance())
    world.files.stop_failing()
    assert partition.offline is not None
    with pytest.raises(StorageError, match="t-0"):
        world.partitions.close(clean=True)
    assert world.after_a_crash().all[0].log.end_offset == 5


def test_a_partition_that_is_made_does_not_read_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    assert [world.write(world.all[0]) for _ in range(3)]
    monkeypatch.setattr(MemoryFile, "pread", lambda *_: pytest.fail("the journal is read"))
    specs = [PartitionSpec(b"\x0b" * 16, number, LogConfig(), True, "u") for number in range(10)]
    create(world.partitions, specs)


def test_an_error_that_syncfs_told_to_others_is_found_when_the_log_is_settled() -> None:
    errors: list[OSError] = []

    def whole() -> None:
        if errors:
            raise errors.pop()
        for partition in world.all:
            for segment in partition.log.segments:
                memory_file(segment.file())._content.sync()

    world = World(count=6, whole=whole)
    victim, *others = world.all
    for _ in range(2):
        for partition in world.all:
            assert world.write(partition)
    assert world.write(victim)
    promised = victim.log.durable_end.offset
    file = memory_file(victim.log.segments[-1].file())
    # The kernel writes by itself and fails: it tells the next syncfs, and whoever syncs this file.
    file._content.pending.clear()
    file._sync_failed = True
    errors.append(OSError(errno.EIO, "writeback"))
    for partition in others[:3]:
        partition.log.roll()
        partition.write(batch())
    world.rounds.start_round()
    assert not errors
    for _ in range(40):
        for partition in others:
            partition.write(batch(size=500))
        world.rounds.start_round()
    assert victim.offline is not None
    assert world.after_a_crash().all[0].log.end_offset == promised


def test_a_log_that_fails_twice_is_verified_once() -> None:
    world = World()
    (partition,) = world.all
    world.write(partition)
    partition.sync_failed(OSError(errno.EIO, "while it was settled"))
    partition.sync_failed(OSError(errno.EIO, "in a round"))
    assert len(world.later) == 1
    world.later.pop()()
    assert partition.offline is None
    partition.sync_failed(OSError(errno.EIO, "another time"))
    assert len(world.later) == 1


def test_pages_that_the_kernel_dropped_come_back_from_the_journal() -> None:
    world = World()
    (partition,) = world.all
    assert [world.write(partition) for _ in range(4)] == [True] * 4
    lose_pages(partition.log.segments[-1].file())
    partition.sync_failed(OSError(errno.EIO, "lost"))
    world.later.pop()()
    assert (partition.offline, partition.log.end_offset) == (None, 4)


def test_a_frame_under_way_while_its_log_is_verified_does_not_come_back_in_anothers_place() -> None:
    world = World()
    (partition,) = world.all
    assert world.write(partition, b"r0")
    assert world.write(partition, b"r1")
    world.device.hold = True
    assert not world.write(partition, b"r2")
    lose_pages(partition.log.segments[-1].file())
    partition.sync_failed(OSError(errno.EIO, "lost"))
    world.later.pop()()
    assert partition.log.end_offset == 2
    world.device.hold = False
    world.device.release()
    assert partition.high_watermark.offset == 2
    assert world.write(partition, b"n2")
    assert values(world.after_a_crash().all[0]) == [b"r0", b"r1", b"n2"]


def test_entries_beyond_a_log_that_was_cut_do_not_replace_what_came_after() -> None:
    world = World(count=2)
    damaged, other = world.all
    assert world.write(damaged, b"r0")
    assert world.write(other)
    for partition, value in ((damaged, b"r1"), (damaged, b"r2"), (other, b"o1"), (other, b"o2"), (other, b"o3")):
        assert world.write(partition, value)
    assert world.write(damaged, b"r3"), "in the second slot"
    while world.journal.statistics()["settled"] < 2:
        world.write(other)
    sync(damaged.log)
    segment = damaged.log.segments[-1]
    world.files.flip_bit(segment.path, segment.size // 4 + 65)
    world = world.after_a_crash()
    damaged, other = world.all
    assert values(damaged) == [b"r0"], "damage is cut off"
    for value in (b"n0", b"n1"):
        assert world.write(damaged, value)
    sync(damaged.log)
    assert world.write(damaged, b"n2")
    assert values(world.after_a_crash().all[0]) == [b"r0", b"n0", b"n1", b"n2"]


@pytest.mark.parametrize("call", range(1, 25))
def test_a_crash_in_a_truncation_loses_nothing_below_the_cut(call: int) -> None:
    world = World()
    (partition,) = world.all
    assert [world.write(partition) for _ in range(5)] == [True] * 5
    world.files.fail_at(call, errno.EIO, times=10_000)
    with contextlib.suppress(StorageError):
        partition.log.truncate_to(4)
    assert world.after_a_crash().all[0].log.end_offset >= 4


def test_a_slot_with_a_damaged_number_is_not_believed() -> None:
    world = World()
    assert [world.write(world.all[0]) for _ in range(4)] == [True] * 4
    slot = world.files.open("/data/journal/0.journal")
    slot.write([b"\xff" * 8], 16)
    slot.sync()
    world = world.after_a_crash()
    assert [world.write(world.all[0]) for _ in range(2)]


def test_a_snapshot_that_raised_before_its_sync_settles_nothing() -> None:
    world = World()
    (partition,) = world.all
    assert [world.write(partition) for _ in range(2)] == [True] * 2
    partition.log.request_snapshot()
    for job in partition.log.maintenance():
        job.finish(MemoryError("before the sync"))
    assert partition.log.settled_end.offset == 1


def test_a_log_that_a_snapshot_has_synced_keeps_no_round_from_the_journal() -> None:
    world = World(count=2)
    for partition in (*world.all, *world.all):
        assert world.write(partition)
    first, second = world.all
    frames = world.journal.statistics()["frames"]
    first.write(batch())
    second.write(batch())
    first.log.request_snapshot()
    world.partitions.run_jobs(first, first.log.maintenance())
    world.rounds.start_round()
    assert world.journal.statistics()["frames"] == frames + 1
    assert [partition.high_watermark.offset for partition in world.all] == [3, 3]


def test_a_record_cannot_pass_for_a_frame() -> None:
    """Its content lies where the second frame of a new lap would begin, and all in it is right but the salt."""
    world = World(count=2)
    attacker, victim = world.all
    assert world.write(attacker)
    assert world.write(victim)
    name = f"topics/{TOPIC.hex()}/1".encode()
    forged = stored(batch(), victim.log.end_offset, 0)
    entry = journal_format._ENTRY.pack(len(name), len(forged), 0, victim.log.end.position) + name + forged
    lap, size = world.journal._sequence + 3, journal_format._FRAME.size + len(entry)
    frame = bytearray(journal_format._FRAME.pack(b"tidejrn1", 0, size, lap, bytes(16), 1, 1) + entry)
    struct.pack_into(">I", frame, 8, crc32c(frame[12:]))
    before = build_batch([(b"k", b"x" * 5000)], timestamp_ms=NOW_MS).index(b"x" * 100)
    lead = journal_format._FRAME.size + journal_format._ENTRY.size + len(name) + before
    assert world.write(attacker, (b"x" * (4096 - lead) + bytes(frame)).ljust(5000, b"x"))
    for _ in range(3 + 5 + 1):
        assert world.write(attacker)
    slot = world.files.open("/data/journal/0.journal")
    assert journal_format.slot_sequence(slot) == lap
    assert slot.pread(len(frame), 4096) == bytes(frame)
    assert world.after_a_crash().all[1].log.end_offset == 1


@pytest.mark.parametrize("content", [b"", b"torn", stored(batch(), 3, 0)], ids=["empty", "torn", "whole"])
def test_a_segment_that_was_never_begun_does_not_keep_the_journal_from_its_log(content: bytes) -> None:
    world = World()
    (partition,) = world.all
    assert [world.write(partition) for _ in range(3)] == [True] * 3
    sync(partition.log)
    # As a failed write may leave it behind.
    directory = partition.log.directory
    file = world.files.open(f"{directory}/00000000000000000003.log", create=True)
    file.write([content], 0)
    file.sync()
    world.files.sync_directory(directory)
    assert [world.write(partition, b"%02d" % number) for number in (3, 4)] == [True] * 2
    assert partition.log.settled_end.offset == 3, "the rest is in the journal alone"
    (again,) = world.after_a_crash().all
    assert values(again)[3:] == [b"03", b"04"]


def test_what_the_journal_alone_holds_and_no_log_can_take_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    (partition,) = world.all
    assert [world.write(partition) for _ in range(3)] == [True] * 3
    sync(partition.log)
    assert [world.write(partition, b"%02d" % number) for number in (3, 4)] == [True] * 2
    segment = partition.log.segments[-1]
    world.files.crash()
    world.files.open(segment.path).truncate(10)
    (again,) = World(world.files).all
    assert again.log.end_offset == 0
    # Three batches that the journal has from the start, too.
    kept = [name for name in world.files.list(partition.log.directory) if name.endswith(".set-aside")]
    assert kept
    assert again.log.recovery.set_aside_bytes > 0
    assert "the journal holds it" in caplog.text


def test_a_damaged_frame_of_the_journal_costs_other_logs_nothing() -> None:
    world = World(count=2)
    hit, spared = world.all
    for partition in world.all:
        assert world.write(partition)
        sync(partition.log)
    for number in range(2):
        assert world.write(hit, b"h%d" % number)
        assert world.write(spared, b"s%d" % number)
    name, size = next(iter(world.files.list("/data/journal").items()))
    content = world.files.open(f"/data/journal/{name}").pread(size, 0)
    world.files.flip_bit(f"/data/journal/{name}", content.index(b"h0"))
    again = world.after_a_crash()
    assert values(again.all[1])[1:] == [b"s0", b"s1"]
    assert values(again.all[0])[1:] == []
    assert again.all[0].log.recovery.set_aside_files == 1, "h1, which continues nothing"


def test_of_a_partition_that_went_and_came_back_the_journal_gives_back_the_second_life_only() -> None:
    world = World()
    for _ in range(5):
        assert world.write(world.all[0], b"old")
    (gone,) = world.partitions.take_out(TOPIC, 0)
    world.partitions.retire(gone)
    world.files.remove_tree(world.partitions.directory(TOPIC, 0))
    spec = PartitionSpec(TOPIC, 0, LogConfig(), True, "t")
    back = world.partitions.add(spec, world.partitions.open_arrived(spec))
    assert back.log.end_offset == 0
    for _ in range(2):
        assert world.write(back, b"new")
    (found,) = world.after_a_crash().all
    assert values(found) == [b"ew", b"ew"]
