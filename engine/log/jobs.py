"""Work of a log that may block: `run` in a thread, `finish` back on the loop, always both.

A job keeps the `OSError` that it met and acts on it in `finish`. Should `run` raise all the same (a bug), the
error is handed to `finish`.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, field
from msgspec import Struct

from engine.files.files import File, Files
from engine.files.reserve import is_full
from engine.journal.format import JournalPiece
from engine.log.index import ENTRY_SIZE
from engine.log.recovery import remove_segment_files, write_start_offset
from engine.log.replacement import Replacement, commit_replacement
from engine.log.segment import Segment
from engine.log.snapshot import Snapshot, remove_snapshots, write_snapshot
from engine.log.types import LogPosition


class Job(Protocol):
    """See the module."""

    error: BaseException | None

    def run(self) -> None: ...

    def finish(self, error: BaseException | None = None) -> None: ...


class LogLife(Struct, frozen=True):
    """When a ticket was drawn: of which state of the log, and after how many changes of its directories."""

    states: int = 0
    changes: int = 0


class SyncTicket(Struct, frozen=True):
    """What was dirty when it was drawn; once `run` returned, everything up to `end` is durable."""

    files: tuple[File, ...]
    directories: tuple[str, ...]
    end: LogPosition
    file_system: Files
    life: "LogLife"
    sealed: tuple[File, ...] = ()
    """Those of the files that nothing is written to any more."""
    piece: JournalPiece | None = None
    """What is durable once a journal holds it: everything up to `end`, too."""

    @property
    def only_files(self) -> Sequence[File] | None:
        """The files, if syncing them is all there is to do."""
        return None if self.directories else self.files

    def run(self) -> None:
        """[thread] Raises `OSError`."""
        for file in self.files:
            file.sync()
        for directory in self.directories:
            self.file_system.sync_directory(directory)


def undurable_piece(directory: str, file: File, durable: LogPosition, end: LogPosition) -> JournalPiece | None:
    """What a journal needs to hold of a log, if it lies in one file."""
    if durable.segment != end.segment or durable.position >= end.position:
        return None
    return JournalPiece(directory, end.segment, file, durable.position, end.position - durable.position)


@define(eq=False)
class SealJob:
    """Writes the index of a segment that is no longer appended to."""

    segment: Segment
    content: bytes
    done: Callable[["SealJob"], None]
    error: BaseException | None = None
    sync_failed: bool = False

    def run(self) -> None:
        try:
            # The trailer says that the segment is complete: so it must be.
            self.segment.file().sync()
        except OSError as error:
            self.error, self.sync_failed = error, True
            return
        try:
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
    """Syncs the log and the active segment's index, then writes a snapshot: the new recovery point."""

    files: Files
    directory: str
    ticket: SyncTicket
    snapshot: Snapshot
    segment: Segment
    index_content: bytes
    index_start: int
    obsolete: list[int]
    done: Callable[["SnapshotJob"], None]
    error: BaseException | None = field(default=None, init=False)
    sync_failed: bool = field(default=False, init=False)
    synced: bool = field(default=False, init=False)
    written: bool = field(default=False, init=False)
    frees_room: bool = field(default=False, init=False)
    """Whether something is deleted once it is there."""

    def run(self) -> None:
        try:
            self.ticket.run()
        except OSError as error:
            self.error, self.sync_failed = error, True
            return
        self.synced = True
        try:
            self._write()
        except OSError as error:
            if not (self.frees_room and is_full(error) and self.files.make_room()):
                self.error = error
                return
            try:
                self._write()
            except OSError as second:
                self.error = second

    def _write(self) -> None:
        _write_index(self.segment, self.index_content, self.index_start * ENTRY_SIZE)
        write_snapshot(self.files, self.directory, self.snapshot)
        self.written = True
        remove_snapshots(self.files, self.directory, self.obsolete)

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
class DurableStart:
    """[thread] The start offset on disk. It only rises, whichever of several jobs comes first."""

    files: Files
    directory: str
    offset: int
    _lock: threading.Lock = field(factory=threading.Lock)

    def raise_to(self, offset: int) -> None:
        with self._lock:
            if offset > self.offset:
                self._write(offset)
                self.offset = offset

    def _write(self, offset: int) -> None:
        try:
            write_start_offset(self.files, self.directory, offset)
        except OSError as error:
            # What goes after it frees more than this takes.
            if not is_full(error) or not self.files.make_room():
                raise
            write_start_offset(self.files, self.directory, offset)


@define(eq=False)
class StartOffsetJob:
    """Makes a higher start offset durable, then removes the segments below it (never the other way round)."""

    start: DurableStart
    ticket: SyncTicket
    offset: int
    segments: Sequence[Segment]
    done: Callable[["StartOffsetJob"], None]
    kept_from: Callable[[], int] | None = None
    """[thread] From which segment on there is no newer snapshot: what the log knows of its producers would go too."""
    error: BaseException | None = None
    sync_failed: bool = False
    raised: bool = False
    removed: list[Segment] = field(factory=list)

    def run(self) -> None:
        try:
            # The log must not end before its start: what the new start stands on is synced first.
            self.ticket.run()
        except OSError as error:
            self.error, self.sync_failed = error, True
            return
        try:
            self.start.raise_to(self.offset)
            self.raised = True
            bound = self.kept_from() if self.kept_from is not None else self.offset
            for segment in self.segments:
                if segment.base_offset < bound:
                    self.removed.append(segment)
                    remove_segment_files(segment)
        except OSError as error:
            self.error = error

    def finish(self, error: BaseException | None = None) -> None:
        self.error = self.error or error
        self.done(self)


@define(eq=False)
class ReplaceJob:
    """Puts cleaned segments in the place of others, all or nothing."""

    files: Files
    directory: str
    old: Sequence[Segment]
    new: Sequence[Segment]
    snapshots: list[int]
    done: Callable[["ReplaceJob"], None]
    error: BaseException | None = None
    _pinned: list[File] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        # Until `finish`, readers go on with the old files, whose names are soon others'.
        self._pinned = [segment.pin() for segment in self.old]

    def run(self) -> None:
        removed = tuple(name for segment in self.old for name in segment.names)
        renamed = tuple(name for segment in self.new for name in segment.names)
        try:
            remove_snapshots(self.files, self.directory, self.snapshots)
            commit_replacement(self.files, self.directory, Replacement(removed, renamed))
        except OSError as error:
            self.error = error

    def finish(self, error: BaseException | None = None) -> None:
        self.error = self.error or error
        self.done(self)
