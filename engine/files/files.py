"""Files, injected: what the engine asks of a file system, and the real one.

`MemoryFiles` (engine/files/memory.py) is the other implementation: it forgets what was not synced and fails
when told to. Everything here may raise `OSError`; the callers turn it into a `StorageError`.
"""

import contextlib
import errno
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from typing import Protocol

from msgspec import Struct

Buffer = bytes | bytearray | memoryview
# Linux takes at most 1,024 buffers in one writev.
MAX_BUFFERS = 1024
KEPT_OPEN = 256
PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
"""What is kept for others is nobody else's business on the machine."""
REMOVALS = 20
TEMPORARY_SUFFIX = ".tmp"


class File(Protocol):
    """An open file. It stays readable after it was unlinked, until the last reference goes."""

    path: str

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        """Writes all buffers one after the other at `position`; after an error part may be written."""

    def pread(self, size: int, position: int) -> bytes:
        """Up to `size` bytes; fewer at the end of the file."""

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill the buffer; how many bytes there were."""

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Data on disk, or an error: this time and every time after, for a failed sync loses its pages."""

    def begin_sync(self) -> int | None:
        """The descriptor, for a sync that nobody waits for and `end_sync` ends; None if that cannot be now."""

    def end_sync(self, error: OSError | None) -> None:
        """How the sync that was begun has ended."""

    def size(self) -> int: ...

    def fileno(self) -> int | None:
        """The descriptor for sendfile; None where there is none."""

    def close(self) -> None: ...


class Room(Struct, frozen=True):
    """How large a file system is, and how much of it is left for the broker."""

    size_bytes: int
    free_bytes: int


class Files(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False) -> File: ...

    def list(self, directory: str) -> dict[str, int]:
        """Names and sizes of the plain files; empty when the directory is missing."""

    def list_directories(self, directory: str) -> tuple[str, ...]:
        """Names of the directories in it; empty when it is missing."""

    def make_directories(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None: ...

    def unlink(self, path: str) -> None:
        """Missing is fine: removals are repeated after a crash."""

    def sync_directory(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None:
        """A directory and all in it; missing is fine."""

    def room(self, path: str) -> Room:
        """[thread] Of the file system that `path` is on."""

    room_makers: MutableSequence[Callable[[], bool]]
    """[thread] Asked by `make_room`, one after the other."""

    def make_room(self) -> bool:
        """[thread] On a full disk, for something that will free more: whether some room could be made for it."""

    def keep_open(self, file: File) -> None:
        """Holds a reference to a file in use, so that it is not opened again for each read."""

    def forget(self, file: File) -> None:
        """Drops that reference: the file was removed."""


class FileRegion(Struct, frozen=True):
    """A slice of a file; the reference keeps the file open while an answer is being sent."""

    file: File
    position: int
    size: int

    def read(self) -> bytes:
        return self.file.pread(self.size, self.position)

    def fileno(self) -> int | None:
        return self.file.fileno()


@contextlib.contextmanager
def replacing(files: Files, path: str) -> Iterator[File]:
    """An empty file to be written; if the block ends well it is synced and takes the place of the one at `path`, which
    holds the old content or the new whatever happens."""
    temporary = path + TEMPORARY_SUFFIX
    file = files.open(temporary, create=True)
    try:
        file.truncate(0)
        yield file
        file.sync()
    finally:
        file.close()
    files.rename(temporary, path)
    files.sync_directory(os.path.dirname(path))


def write_atomically(files: Files, path: str, content: bytes) -> None:
    """After this returns, the file holds `content` whatever happens; before, the old content or this."""
    with replacing(files, path) as file:
        file.write([content], 0)


def read_whole(files: Files, path: str) -> bytes | None:
    """The file's content, None if it is missing."""
    try:
        file = files.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.pread(file.size(), 0)
    finally:
        file.close()


def open_private(path: str, flags: int) -> int:
    """A descriptor of a file that its owner alone may read and write, whatever the umask and whoever made it."""
    descriptor = os.open(path, flags, PRIVATE_FILE)
    if os.fstat(descriptor).st_mode & 0o777 != PRIVATE_FILE:
        # One that is another user's stays as it is: we are let in, and may not change it.
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def make_private_directories(path: str) -> None:
    """A directory and those above it that are missing, which their owner alone may enter."""
    missing = []
    while path and not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, PRIVATE_DIRECTORY)


def _remaining(buffers: Sequence[Buffer], written: int) -> list[Buffer]:
    """The buffers that a short write left over."""
    rest: list[Buffer] = []
    for buffer in buffers:
        if written >= len(buffer):
            written -= len(buffer)
        else:
            rest.append(memoryview(buffer)[written:])
            written = 0
    return rest


class OsFile:
    """A file descriptor, closed when the last reference goes."""

    __slots__ = ("__weakref__", "_descriptor", "_open", "_sync_error", "_sync_lock", "path")

    def __init__(self, path: str, descriptor: int, opened: set[int] | None = None) -> None:
        self.path = path
        self._descriptor = descriptor
        # A set of numbers, for it is changed in one step by whichever thread drops the last reference.
        self._open = opened if opened is not None else set()
        self._open.add(descriptor)
        self._sync_error: OSError | None = None
        self._sync_lock = threading.Lock()

    def write(self, buffers: Sequence[Buffer], position: int) -> None:
        total = 0
        for buffer in buffers:
            total += len(buffer)
        while True:
            some = buffers if len(buffers) <= MAX_BUFFERS else buffers[:MAX_BUFFERS]
            written = os.pwritev(self._descriptor, some, position)
            if written == total:
                return
            buffers = _remaining(buffers, written)
            position += written
            total -= written

    def pread(self, size: int, position: int) -> bytes:
        return os.pread(self._descriptor, size, position)

    def read_into(self, buffer: memoryview, position: int) -> int:
        return os.preadv(self._descriptor, [buffer], position)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        # The kernel reports a lost page once per descriptor. Of two threads that sync, only one would
        # hear of it: so one at a time, and the error stays.
        with self._sync_lock:
            if self._sync_error is not None:
                raise OSError(self._sync_error.errno, "an earlier sync of this file failed", self.path)
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                self._sync_error = error
                raise

    def begin_sync(self) -> int | None:
        # The lock is held until `end_sync`, for the reason above.
        if not self._sync_lock.acquire(blocking=False):
            return None
        if self._sync_error is None and self._descriptor >= 0:
            return self._descriptor
        self._sync_lock.release()
        return None

    def end_sync(self, error: OSError | None) -> None:
        if error is not None:
            self._sync_error = error
        self._sync_lock.release()

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def fileno(self) -> int | None:
        return self._descriptor

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            # Before it is closed: once it is, another thread may be given the same number.
            self._open.discard(descriptor)
            os.close(descriptor)

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self.close()


class Relief(Protocol):
    """Who closes files that nobody needs just now (engine/files/relief.py)."""

    def relieve_soon(self) -> object:
        """Many are open."""

    def make_room(self) -> bool:
        """As many are open as may be: close one at least, now; whether that could be done."""


class OsFiles:
    """The operating system's files, `most_open` of them at one time."""

    def __init__(self, kept_open: int = KEPT_OPEN, most_open: int | None = None) -> None:
        self._kept_open = kept_open
        self._recent: OrderedDict[str, File] = OrderedDict()
        self._open: set[int] = set()
        self.most_open = most_open
        self._relief: Relief | None = None
        self.room_makers: MutableSequence[Callable[[], bool]] = []

    def open(self, path: str, *, create: bool = False) -> File:
        if self.is_crowded:
            self._relieve(path)
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        descriptor = open_private(path, flags) if create else os.open(path, flags)
        return OsFile(path, descriptor, self._open)

    @property
    def open_count(self) -> int:
        """How many are open now."""
        return len(self._open)

    @property
    def is_crowded(self) -> bool:
        """Whether three quarters of what may be open are."""
        return self.most_open is not None and 4 * len(self._open) >= 3 * self.most_open

    @property
    def is_full(self) -> bool:
        """Whether no further one may be opened."""
        return self.most_open is not None and len(self._open) >= self.most_open

    def _relieve(self, path: str) -> None:
        relief = self._relief
        if relief is None:
            return
        if not self.is_full:
            relief.relieve_soon()
        elif not relief.make_room():
            reason = f"log.max.open.files={self.most_open} files are open, and none of them can be closed yet"
            raise OSError(errno.EMFILE, reason, path)

    def list(self, directory: str) -> dict[str, int]:
        try:
            with os.scandir(directory) as entries:
                return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
        except FileNotFoundError:
            return {}

    def list_directories(self, directory: str) -> tuple[str, ...]:
        try:
            with os.scandir(directory) as entries:
                return tuple(sorted(entry.name for entry in entries if entry.is_dir()))
        except FileNotFoundError:
            return ()

    def make_directories(self, path: str) -> None:
        make_private_directories(path)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def unlink(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def room(self, path: str) -> Room:
        found = os.statvfs(path)
        return Room(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def use(self, relief: Relief) -> None:
        """Have it close files when too many are open."""
        self._relief = relief

    def make_room(self) -> bool:
        return any(make_room() for make_room in self.room_makers)

    def remove_tree(self, path: str) -> None:
        # Background work that has not yet stopped may remove a file under our hands, or make one: then once more.
        for attempt in range(REMOVALS):
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                if not os.path.isdir(path):
                    break
            except OSError as error:
                if error.errno != errno.ENOTEMPTY or attempt == REMOVALS - 1:
                    raise
        # What is kept open keeps its room on the disk, and nobody can ask for it any more.
        for kept in [kept for kept in tuple(self._recent) if kept.startswith(f"{path}/")]:
            self._recent.pop(kept, None)

    def keep_open(self, file: File) -> None:
        self._recent[file.path] = file
        self._recent.move_to_end(file.path)
        if len(self._recent) > self._kept_open:
            self.let_go_of_recent(1)

    def let_go_of_recent(self, count: int) -> None:
        """Drops the references that are kept longest; the files are closed unless somebody else uses them."""
        with contextlib.suppress(KeyError):
            for _ in range(count):
                self._recent.popitem(last=False)

    def forget(self, file: File) -> None:
        if self._recent.get(file.path) is file:
            self._recent.pop(file.path, None)
