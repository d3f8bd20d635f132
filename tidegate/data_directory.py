"""The data directory: one broker at a time holds it, and a mark tells whether the last one left it in order."""

import fcntl
import os
from pathlib import Path
from types import TracebackType

LOCK_FILE = ".lock"
CLEAN_MARK = ".clean-shutdown"


class DataDirectoryInUse(Exception):
    """Another broker runs on this directory."""


class DataDirectory:
    """Makes the directory if need be and holds its lock for the length of a `with` block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    def __enter__(self) -> "DataDirectory":
        self.path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def take_clean_mark(self) -> bool:
        """Whether the last broker shut down cleanly; the mark is gone, durably, before anything is written."""
        try:
            os.unlink(self.path / CLEAN_MARK)
        except FileNotFoundError:
            return False
        self._sync()
        return True

    def leave_clean_mark(self) -> None:
        """Every log was closed well: the next start need not recover."""
        mark = os.open(self.path / CLEAN_MARK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.fsync(mark)
        os.close(mark)
        self._sync()

    def _sync(self) -> None:
        directory = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(directory)
        os.close(directory)
