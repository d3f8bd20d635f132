"""What the tests of the journal share: a device on a file system in memory, and a journal on it."""

import itertools
from collections.abc import Callable, Sequence

from engine.files.files import File
from engine.files.memory import MemoryFiles
from engine.journal.device import Slot, Written
from engine.journal.journal import Journal, Owner, Settle
from engine.workers import InlineWorkers
from tests.engine.logs import NOW_MS

SLOT_BYTES = 5 * 4096


class MemoryDevice:
    """Writes are durable at once; `hold` keeps them until `release`."""

    def __init__(self, files: MemoryFiles, buffer_bytes: int = SLOT_BYTES) -> None:
        self.files = files
        self.buffer = memoryview(bytearray(buffer_bytes))
        self.hold = False
        self.held: list[Callable[[], object]] = []
        self.fail: OSError | None = None

    def lay_out(self, path: str, size: int) -> Slot:
        file = self.files.open(path, create=True)
        if file.size() != size:
            file.truncate(0)
            file.write([bytes(size)], 0)
        file.sync()
        for directory in ("/data/journal", "/data", "/"):
            self.files.sync_directory(directory)
        return MemorySlot(file, self)

    def release(self) -> None:
        """Let what was held happen."""
        held, self.held = self.held, []
        for write in held:
            write()


class MemorySlot:
    """A slot of `MemoryDevice`."""

    def __init__(self, file: File, device: MemoryDevice) -> None:
        self.file = file
        self.device = device

    def write(self, size: int, position: int, done: Written) -> None:
        def write() -> None:
            if self.device.fail is not None:
                done(self.device.fail)
                return
            self.file.write([bytes(self.device.buffer[:size])], position)
            self.file.sync()
            done(None)

        if self.device.hold:
            self.device.held.append(write)
        else:
            write()

    def close(self) -> None:
        pass


class SettleLater:
    """Stands for the sync rounds: notes what the journal wants synced."""

    def __init__(self) -> None:
        self.asked: list[list[Owner]] = []
        self._done: list[Callable[[Sequence[Owner]], object]] = []

    def __call__(self, owners: Sequence[Owner], done: Callable[[Sequence[Owner]], object]) -> None:
        self.asked.append(list(owners))
        self._done.append(done)

    def finish(self, failed: Sequence[Owner] = ()) -> None:
        """All but these are synced."""
        self._done.pop(0)(failed)


_salts = itertools.count(1)


def _salt(size: int) -> bytes:
    return next(_salts).to_bytes(size, "big")


def settle_at_once(_: Sequence[Owner], settled: Callable[[Sequence[Owner]], object]) -> None:
    """For logs that are always synced."""
    settled(())


def open_journal(
    files: MemoryFiles,
    device: MemoryDevice | None = None,
    *,
    slots: int = 2,
    started: bool = True,
    clean: bool = False,
    workers: InlineWorkers | None = None,
    settle: Settle | None = None,
) -> Journal:
    """A journal of small slots; `started` where no log needs what is in it."""
    journal = Journal(
        "/data",
        files,
        device or MemoryDevice(files),
        workers or InlineWorkers(),
        _salt,
        slot_bytes=SLOT_BYTES,
        slot_count=slots,
    )
    journal.open(NOW_MS, clean=clean)
    if started:
        journal.start(settle or settle_at_once)
    return journal
