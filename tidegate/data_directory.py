"""The data directory: one broker at a time holds it, and a mark tells whether the last one left it in order."""

import contextlib
import errno
import fcntl
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import msgspec
from crc32c import crc32c

from engine.files.files import PRIVATE_DIRECTORY, PRIVATE_FILE, open_private
from engine.log.types import LogExtent

logger = logging.getLogger("tidegate")

LOCK_FILE = ".lock"
CLEAN_MARK = ".clean-shutdown"
TEMPORARY_SUFFIX = ".tmp"
OURS = (LOCK_FILE, CLEAN_MARK, "catalogue.", "cluster.", "topics", "journal", "reserve", "scrub")
"""How what a broker keeps here is called."""


class DataDirectoryInUse(Exception):
    """Another broker runs on this directory."""


class DataDirectoryUnusable(Exception):
    """The directory cannot be made, or not be written to."""


_WAYS_OUT = {
    errno.EACCES: "run the broker as a user who may write there",
    errno.EPERM: "run the broker as a user who may write there",
    errno.EROFS: "mount it for writing",
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
}
_REASONS = {
    errno.EEXIST: "that is a file",
    errno.ENOTDIR: "a part of the path is a file",
}


def unusable(path: Path, error: OSError) -> DataDirectoryUnusable:
    """Why a directory cannot be used, and what to do."""
    at = f" ({error.filename})" if error.filename and str(error.filename) != str(path) else ""
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    way_out = " or ".join(filter(None, (_WAYS_OUT.get(error.errno or 0), "choose another with --data-dir")))
    return DataDirectoryUnusable(f"the data directory {path} cannot be used: {reason}{at}; {way_out}")


class CleanMark(msgspec.Struct, frozen=True):
    """That every log was closed well, and how much each held then, by its directory inside the data directory."""

    logs: dict[str, LogExtent] = {}

    def encode(self) -> bytes:
        """A checksum, then the rest."""
        body = msgspec.json.encode(self)
        return f"{crc32c(body):08x}\n".encode() + body

    @classmethod
    def decode(cls, data: bytes) -> "CleanMark | None":
        """None if it is damaged. An empty one, as earlier versions left it, says nothing of the logs."""
        if not data:
            return cls()
        checksum, _, body = data.partition(b"\n")
        if checksum != f"{crc32c(body):08x}".encode():
            return None
        return msgspec.json.decode(body, type=cls)


class DataDirectory:
    """Makes the directory if need be and holds its lock for the length of a `with` block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def __enter__(self) -> "DataDirectory":
        try:
            make_durably(self.path)
            lock = self._open_lock()
        except OSError as error:
            raise unusable(self.path, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise DataDirectoryInUse(
                f"the data directory {self.path} is in use by another broker (process {holder}); "
                f"stop it, or choose another directory with --data-dir"
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock
        self._make_private()
        return self

    def _open_lock(self) -> int:
        path = str(self.path / LOCK_FILE)
        try:
            return open_private(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            text = "the lock of a data directory is no symbolic link: somebody may want another file overwritten"
            raise OSError(errno.ELOOP, f"{text}; remove it", path) from None

    def _make_private(self) -> None:
        """What earlier versions have made for all to read; the directory itself is as its owner wants it."""
        for entry in os.scandir(self.path):
            if entry.is_symlink() or not entry.name.startswith(OURS):
                continue
            mode = PRIVATE_DIRECTORY if entry.is_dir() else PRIVATE_FILE
            if stat.S_IMODE(entry.stat().st_mode) & ~mode:
                with contextlib.suppress(PermissionError):
                    os.chmod(entry.path, mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def take_clean_mark(self) -> CleanMark | None:
        """What the last broker left if it shut down cleanly; the mark is gone, durably, before anything is written."""
        try:
            mark = CleanMark.decode((self.path / CLEAN_MARK).read_bytes())
            os.unlink(self.path / CLEAN_MARK)
        except FileNotFoundError:
            return None
        sync_directory(self.path)
        if mark is None:
            logger.error("the mark of the last shutdown is damaged: the logs are recovered as after a crash")
        return mark

    def leave_clean_mark(self, logs: Mapping[str, LogExtent]) -> None:
        """Every log was closed well: the next start need not recover."""
        path = self.path / CLEAN_MARK
        temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        mark = open_private(str(temporary), flags)
        with os.fdopen(mark, "wb") as file:
            file.write(CleanMark(dict(logs)).encode())
            file.flush()
            os.fsync(mark)
        os.replace(temporary, path)
        sync_directory(self.path)


def make_durably(path: Path) -> None:
    """Make a directory and those above it that are missing; what made them is on the disk before anything in them."""
    missing = [each for each in (path, *path.parents) if not os.path.exists(each)]
    path.mkdir(PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    for made in missing:
        # One may be allowed to make entries in a directory and not to read it, which syncing takes.
        with contextlib.suppress(PermissionError):
            sync_directory(made.parent)


def sync_directory(path: Path) -> None:
    """Put a directory's entries on the disk."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
