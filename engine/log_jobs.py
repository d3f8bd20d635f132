"""Work of a log that may block: `run` in a thread, `finish` back on the loop, always both.

A job keeps the `OSError` that it met and acts on it in `finish`. Should `run` raise all the same (a bug),
the error is handed to `finish`.
"""

from collections.abc import Callable
from typing import Protocol

from attrs import define, field, frozen

from engine.files import File, Files
from engine.index import ENTRY_SIZE
from engine.log_types import LogPosition
from engine.segment import Segment
from engine.snapshot import KEPT, Snapshot, remove_snapshots, write_snapshot


class Job(Protocol):
    """See the module."""

    error: BaseException | None

    def run(self) -> None: ...

    def finish(self, error: BaseException | None = None) -> None: ...


@frozen
class SyncTicket:
    """What was dirty when it was drawn; once `run` returned, everything up to `end` is durable."""

    files: tuple[File, ...]
    directories: tuple[str, ...]
    end: LogPosition
    file_system: Files

    def run(self) -> None:
        """[thread] Raises `OSError`."""
        for file in self.files:
            file.sync()
        for directory in self.directories:
            self.file_system.sync_directory(directory)


@define(eq=False)
class SealJob:
    """Writes the index of a segment that is no longer appended to."""

    segment: Segment
    file: File
    content: bytes
    done: Callable[["SealJob"], None]
    error: BaseException | None = None

    def run(self) -> None:
        try:
            # The trailer says that the segment is complete: so it must be.
            self.file.sync()
            _write_index(self.segment, self.content, 0)
        except OSError as error:
            self.error = error

    def finish(self, error: BaseException | None = None) -> None:
        self.error = self.error or error
        if self.error is None:
            self.segment.index_saved = True
        self.done(self)


@define(eq=False)
class SnapshotJob:
    """Syncs the log, the active segment's index and writes a snapshot: the new recovery point."""

    files: Files
    directory: str
    ticket: SyncTicket
    snapshot: Snapshot
    segment: Segment
    index_content: bytes
    index_start: int
    old_snapshots: list[int]
    done: Callable[["SnapshotJob"], None]
    error: BaseException | None = None
    sync_failed: bool = False
    removed: list[int] = field(factory=list)

    def run(self) -> None:
        try:
            self.ticket.run()
        except OSError as error:
            self.error, self.sync_failed = error, True
            return
        try:
            _write_index(self.segment, self.index_content, self.index_start * ENTRY_SIZE)
            write_snapshot(self.files, self.directory, self.snapshot)
            keep = KEPT - 1
            self.removed = self.old_snapshots[:-keep]
            remove_snapshots(self.files, self.directory, self.removed)
        except OSError as error:
            self.error = error

    def finish(self, error: BaseException | None = None) -> None:
        self.error = self.error or error
        if self.error is None:
            self.segment.saved_entries = self.snapshot.index_entries
        self.done(self)


def _write_index(segment: Segment, content: bytes, position: int) -> None:
    file = segment.files.open(segment.index_path, create=True)
    try:
        file.truncate(position)
        file.write([content], position)
        file.sync()
    finally:
        file.close()


@define(eq=False)
class StartOffsetJob:
    """Makes a higher start offset durable; `finish` drops the segments below it."""

    ticket: SyncTicket
    offset: int
    write: Callable[[int], None]
    done: Callable[["StartOffsetJob"], None]
    error: BaseException | None = None
    sync_failed: bool = False

    def run(self) -> None:
        try:
            # The log must not end before its start: what the new start stands on is synced first.
            self.ticket.run()
        except OSError as error:
            self.error, self.sync_failed = error, True
            return
        try:
            self.write(self.offset)
        except OSError as error:
            self.error = error

    def finish(self, error: BaseException | None = None) -> None:
        self.error = self.error or error
        self.done(self)
