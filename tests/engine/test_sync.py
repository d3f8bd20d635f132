"""A sync is shared by what was written before it began; a failure reaches the partition."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from engine.files import File, OsFiles
from engine.kernel_sync import KernelSync
from engine.sync import AVOID_WHOLE_SYNC_S, SLOW_WHOLE_SYNC_S, RoundSync, SyncRounds
from engine.workers import InlineWorkers


class Written:
    """Counts what is written and what is durable."""

    is_patient = False

    def __init__(self) -> None:
        self.written = 0
        self.durable = 0
        self.fail: OSError | None = None
        self.failures: list[BaseException] = []

    def capture_sync(self) -> "Written.Ticket":
        return Written.Ticket(self, self.written)

    def synced(self, ticket: "Written.Ticket") -> None:
        self.durable = ticket.upto

    def sync_failed(self, error: BaseException) -> None:
        self.failures.append(error)

    class Ticket:
        def __init__(self, owner: "Written", upto: int) -> None:
            self.owner, self.upto = owner, upto
            self.only_files: Sequence[File] | None = None

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
        def synced(self, ticket: object) -> None:
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

        def synced(self, ticket: Written.Ticket) -> None:
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
