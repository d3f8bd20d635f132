"""A sync is shared by what was written before it began; a failure reaches the partition."""

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from engine.files.files import File, OsFiles
from engine.files.kernel_sync import KernelSync
from engine.files.memory import MemoryFiles
from engine.journal.format import JournalPiece
from engine.partition.sync import AVOID_WHOLE_SYNC_S, HEAVY_BYTES, SLOW_WHOLE_SYNC_S, RoundSync, SyncRounds
from engine.workers import InlineWorkers
from tests.engine.journals import MemoryDevice, open_journal
from tests.engine.logs import memory_files


class Written:
    """Counts what is written and what is durable."""

    is_patient = False

    def __init__(self) -> None:
        self.written = 0
        self.durable = self.settled = 0
        self.removed = False
        self.fail: OSError | None = None
        self.failures: list[BaseException] = []

    def capture_sync(self) -> "Written.Ticket":
        return Written.Ticket(self, self.written)

    def synced(self, ticket: "Written.Ticket", *, settled: bool = True) -> None:
        self.durable = ticket.upto
        if settled:
            self.settled = ticket.upto

    @property
    def settling(self) -> bool | None:
        return None if self.removed else not self.failures

    def sync_failed(self, error: BaseException) -> None:
        self.failures.append(error)

    class Ticket:
        def __init__(self, owner: "Written", upto: int) -> None:
            self.owner, self.upto = owner, upto
            self.only_files: Sequence[File] | None = None
            self.piece: JournalPiece | None = None

        def run(self) -> None:
            if self.owner.fail is not None:
                raise self.owner.fail


def test_writes_during_a_sync_share_the_next_one() -> None:
    workers = InlineWorkers(hold=True)
    marks = []
    rounds = SyncRounds(workers, lambda: marks.append(True))
    item = Written()
    item.written = 1
    rounds.mark(item)
    rounds.start_round()
    for item.written in (2, 3, 4):
        rounds.mark(item)
    workers.run_held(1)
    assert item.durable == 1
    workers.run_held(1)
    assert item.durable == 4
    assert rounds.statistics()["syncs"] == 2
    assert rounds.idle()
    assert len(marks) == 1, "a round that follows by itself needs no wake-up"


def test_a_round_takes_all_that_is_marked() -> None:
    workers = InlineWorkers(hold=True)
    rounds = SyncRounds(workers, lambda: None)
    items = [Written() for _ in range(5)]
    for item in items:
        item.written = 1
        rounds.mark(item)
    rounds.start_round()
    workers.run_held()
    assert [item.durable for item in items] == [1] * 5
    assert rounds.statistics()["rounds"] == 1


def test_many_files_are_synced_by_one_call_for_the_file_system() -> None:
    calls = []
    round_sync = RoundSync(4, lambda: calls.append("whole"))
    item = Written()
    item.fail = OSError("not asked one by one")
    assert round_sync.run([item.capture_sync()] * 3) == [None] * 3
    assert calls == ["whole"]


def test_when_the_file_system_reports_an_error_each_file_is_asked() -> None:
    def broken() -> None:
        raise OSError("some file, somewhere")

    bad, good = Written(), Written()
    bad.fail = OSError("this one")
    round_sync = RoundSync(4, broken)
    outcomes = round_sync.run([good.capture_sync(), bad.capture_sync(), good.capture_sync()])
    round_sync.close()
    assert outcomes == [None, bad.fail, None]


def test_a_slow_sync_of_the_file_system_is_not_tried_again_for_a_while() -> None:
    now = [0.0]
    calls: list[float] = []

    def slow() -> None:
        calls.append(now[0])
        now[0] += SLOW_WHOLE_SYNC_S * 2

    round_sync = RoundSync(2, slow, lambda: now[0])
    tickets = [Written().capture_sync()] * 3
    for _ in range(3):
        assert round_sync.run(tickets) == [None] * 3
    assert len(calls) == 1
    now[0] += AVOID_WHOLE_SYNC_S
    round_sync.run(tickets)
    round_sync.close()
    assert len(calls) == 2


def test_a_failure_of_one_partition_leaves_the_others_alone() -> None:
    rounds = SyncRounds(InlineWorkers(), lambda: None)
    bad, good = Written(), Written()
    bad.fail, good.written = OSError("disk"), 1
    rounds.mark(bad)
    rounds.mark(good)
    rounds.start_round()
    assert bad.failures == [bad.fail]
    assert good.durable == 1


def test_a_failed_sync_is_not_retried_as_success() -> None:
    rounds = SyncRounds(InlineWorkers(), lambda: None)
    item = Written()
    item.written, item.fail = 1, OSError("disk")
    rounds.mark(item)
    rounds.start_round()
    assert item.durable == 0
    assert item.failures == [item.fail]
    assert rounds.idle()


def test_a_bug_of_one_partition_does_not_keep_the_others_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Written):
        def synced(self, ticket: object, *, settled: bool = True) -> None:
            raise AssertionError("a bug")

    rounds = SyncRounds(InlineWorkers(), lambda: None)
    good = Written()
    good.written = 1
    rounds.mark(Broken())
    rounds.mark(good)
    rounds.start_round()
    assert good.durable == 1
    assert "a bug" in caplog.text


def test_who_is_patient_is_told_after_the_others_and_after_the_next_round_has_begun() -> None:
    workers = InlineWorkers(hold=True)
    rounds = SyncRounds(workers, lambda: None)
    told: list[str] = []

    class Named(Written):
        def __init__(self, name: str, *, is_patient: bool) -> None:
            super().__init__()
            self.name, self.is_patient = name, is_patient

        def synced(self, ticket: Written.Ticket, *, settled: bool = True) -> None:
            told.append(f"{self.name}, {len(workers.held)} rounds begun")

    patient, quick = Named("patient", is_patient=True), Named("quick", is_patient=False)
    rounds.mark(patient)
    rounds.mark(quick)
    rounds.start_round()
    rounds.mark(quick)
    job, done = workers.held.popleft()
    done(job(), None)
    assert told == ["quick, 0 rounds begun", "patient, 1 rounds begun"]


class InKernel:
    """Stands for the kernel: keeps what it is given until it is told how that ended."""

    def __init__(self) -> None:
        self.given: list[tuple[int, Callable[[int, OSError | None], object]]] = []

    def submit(self, descriptors: Sequence[int], done: Callable[[int, OSError | None], object]) -> None:
        self.given += [(place, done) for place in range(len(descriptors))]

    def end(self, error: OSError | None = None) -> None:
        given, self.given = self.given, []
        for place, done in given:
            done(place, error)


class OnDisk(Written):
    """The same in a real file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.file = OsFiles().open(str(path), create=True)

    def capture_sync(self) -> "Written.Ticket":
        ticket = super().capture_sync()
        ticket.only_files = (self.file,)
        return ticket


def kernel_rounds(kernel: InKernel, workers: InlineWorkers) -> SyncRounds:
    return SyncRounds(workers, lambda: None, RoundSync(1, kernel=cast(KernelSync, kernel)))


def test_few_files_are_left_to_the_kernel(tmp_path: Path) -> None:
    kernel, workers = InKernel(), InlineWorkers(hold=True)
    rounds = kernel_rounds(kernel, workers)
    item = OnDisk(tmp_path / "a")
    item.written = 1
    rounds.mark(item)
    rounds.start_round()
    item.written = 2
    rounds.mark(item)
    assert item.durable == 0
    assert len(kernel.given) == 1, "one round at a time"
    kernel.end()
    assert item.durable == 1
    kernel.end()
    assert item.durable == 2
    assert rounds.idle()
    assert not workers.held


def test_what_the_kernel_could_not_sync_fails_and_stays_failed(tmp_path: Path) -> None:
    kernel, workers = InKernel(), InlineWorkers()
    rounds = kernel_rounds(kernel, workers)
    item = OnDisk(tmp_path / "a")
    rounds.mark(item)
    rounds.start_round()
    error = OSError(5, "lost")
    kernel.end(error)
    assert item.failures == [error]
    with pytest.raises(OSError, match="earlier sync"):
        item.file.sync()


def test_a_file_that_a_thread_is_syncing_takes_a_thread(tmp_path: Path) -> None:
    kernel, workers = InKernel(), InlineWorkers(hold=True)
    rounds = kernel_rounds(kernel, workers)
    busy, free = OnDisk(tmp_path / "a"), OnDisk(tmp_path / "b")
    assert busy.file.begin_sync() is not None
    for item in (free, busy):
        item.written = 1
        rounds.mark(item)
    rounds.start_round()
    assert not kernel.given
    busy.file.end_sync(None)
    assert free.file.begin_sync() is not None, "it was let go"
    workers.run_held()
    assert (busy.durable, free.durable) == (1, 1)


def test_many_files_are_left_to_the_kernel_only_while_the_file_system_is_slow(tmp_path: Path) -> None:
    kernel, now, calls = InKernel(), [0.0], []

    def slow() -> None:
        calls.append(now[0])
        now[0] += SLOW_WHOLE_SYNC_S * 2

    round_sync = RoundSync(1, slow, lambda: now[0], cast(KernelSync, kernel))
    rounds = SyncRounds(InlineWorkers(), lambda: None, round_sync)
    items = [OnDisk(tmp_path / name) for name in "abc"]
    for number in (1, 2):
        for item in items:
            item.written = number
            rounds.mark(item)
        rounds.start_round()
        assert len(kernel.given) == (0 if number == 1 else 3)
        kernel.end()
        assert [item.durable for item in items] == [number] * 3
    assert len(calls) == 1


class Journaling(Written):
    """One whose bytes a journal can take."""

    def __init__(self, files: MemoryFiles, name: str) -> None:
        super().__init__()
        self.file = files.open(f"/data/{name}", create=True)

    def write(self, size: int = 1) -> None:
        self.file.write([b"x" * size], self.written)
        self.written += size

    def capture_sync(self) -> "Written.Ticket":
        ticket = super().capture_sync()
        ticket.only_files = (self.file,) if self.written > self.settled else ()
        ticket.piece = JournalPiece("/data/topics", 0, self.file, self.durable, self.written - self.durable)
        return ticket


class JournalWorld:
    """Rounds with a journal whose first slot lies ready."""

    def __init__(self, count: int = 1) -> None:
        self.files = memory_files()
        self.device = MemoryDevice(self.files)
        self.workers = InlineWorkers()
        self.journal = open_journal(self.files, self.device, slots=2, started=False)
        self.settling = InlineWorkers(hold=True)
        self.rounds = SyncRounds(self.workers, lambda: None, None, self.journal, self.settling)
        self.journal.start(self.rounds.settle)
        self.items = [Journaling(self.files, str(number)) for number in range(count)]
        self.journal.take([], [], lambda _: None)

    def round(self) -> None:
        for item in self.items:
            item.write()
            self.rounds.mark(item)
        self.rounds.start_round()


def test_a_round_is_durable_by_the_journal_alone() -> None:
    world = JournalWorld(3)
    world.round()
    assert [(item.durable, item.settled) for item in world.items] == [(1, 0)] * 3
    assert world.rounds.statistics()["journal_frames"] == 1
    assert world.rounds.durations.count == 1


def test_one_that_must_be_synced_is_synced_beside_the_round() -> None:
    world = JournalWorld()
    other = Written()
    other.written = 1
    world.rounds.mark(other)
    world.round()
    assert (other.durable, other.settled) == (1, 1)
    assert (world.items[0].durable, world.items[0].settled) == (1, 0)
    assert world.rounds.statistics()["journal_frames"] == 1


def test_who_wrote_little_does_not_wait_for_who_wrote_much() -> None:
    world = JournalWorld(2)
    little, much = world.items
    world.workers.hold = True
    much.write(HEAVY_BYTES + 1)
    world.rounds.mark(much)
    world.round()
    # The disk is busy with much: it is written to again, and is in no other round meanwhile.
    for _ in range(3):
        world.round()
    assert (little.durable, much.durable) == (4, 0)
    assert len(world.workers.held) == 1
    assert not world.rounds.idle()
    world.workers.run_held()
    assert little.durable == 4
    assert much.durable == HEAVY_BYTES + 5, "what came meanwhile was in the next round of its kind, or journaled"
    assert world.rounds.statistics()["marked"] == world.rounds.statistics()["under_way"] == 0


def test_heavy_ones_are_synced_one_round_at_a_time() -> None:
    world = JournalWorld(2)
    world.workers.hold = True
    for item in world.items:
        item.write(HEAVY_BYTES + 1)
        world.rounds.mark(item)
        world.rounds.start_round()
    assert len(world.workers.held) == 1
    world.rounds.forget(world.items[1])
    world.workers.run_held()
    assert [item.durable for item in world.items] == [HEAVY_BYTES + 1, 0]


def test_a_failed_sync_of_a_heavy_one_reaches_it_and_nobody_else() -> None:
    world = JournalWorld(2)
    little, much = world.items
    much.write(HEAVY_BYTES + 1)
    much.fail = OSError(5, "no")
    world.round()
    assert (much.failures, much.durable) == ([much.fail], 0)
    assert (little.failures, little.durable) == ([], 1)


def test_what_the_journal_fails_to_write_is_synced() -> None:
    world = JournalWorld()
    world.device.fail = OSError(5, "no")
    world.round()
    assert (world.items[0].durable, world.items[0].settled) == (1, 1)
    assert world.rounds.idle()


def test_what_is_written_while_the_journal_writes_shares_the_next_round() -> None:
    world = JournalWorld()
    world.device.hold = True
    for _ in range(3):
        world.round()
    assert world.items[0].durable == 0
    world.device.release()
    assert world.items[0].durable == 1
    world.device.release()
    assert world.items[0].durable == 3


def test_full_slots_are_settled_beside_the_rounds() -> None:
    world = JournalWorld()
    item = world.items[0]
    while not world.settling.held:
        world.round()
    assert not world.rounds.idle()
    assert (item.settled, item.durable) == (0, item.written)
    world.settling.run_held()
    assert 0 < item.settled == item.durable
    assert world.rounds.idle()


def test_what_is_removed_or_offline_is_not_settled() -> None:
    world = JournalWorld(3)
    removed, offline, good = world.items
    world.round()
    removed.removed = True
    offline.failures.append(OSError(5, "offline already"))
    while not world.settling.held:
        good.write()
        world.rounds.mark(good)
        world.rounds.start_round()
    world.settling.run_held()
    assert (removed.settled, offline.settled) == (0, 0)
    assert good.settled > 0
    assert len(offline.failures) == 1


def test_what_is_removed_is_forgotten_by_rounds_and_journal() -> None:
    world = JournalWorld(2)
    world.round()
    removed = weakref.ref(world.items[0])
    world.rounds.mark(world.items[0])
    world.rounds.forget(world.items.pop(0))
    assert removed() is None


def test_a_sync_that_fails_while_settling_is_told() -> None:
    world = JournalWorld()
    item = world.items[0]
    while not world.settling.held:
        world.round()
    item.fail = OSError(5, "lost")
    world.settling.run_held()
    assert item.failures == [item.fail]
    assert world.rounds.statistics()["failures"] == 1
