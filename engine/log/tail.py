"""[thread] What is done to the end of a log on disk when it is not appended to: written again, cut off, emptied."""

import os
from collections.abc import Sequence

from engine.files.files import Files
from engine.journal.format import LogJournal
from engine.log.recovery import (
    JOURNAL_BIRTH_FILE,
    JOURNAL_FLOOR_FILE,
    START_FILE,
    remove_segment_files,
    write_journal_floor,
)
from engine.log.segment import Segment
from engine.log.snapshot import list_snapshots, remove_snapshots
from engine.log.types import LogPosition

_REWRITE_BYTES = 1 << 20


def rewrite_tail(files: Files, segments: Sequence[Segment], settled: LogPosition) -> None:
    """A failed sync leaves pages that look written and are not: the bytes past the settled end are
    written again through a new descriptor."""
    for segment in segments:
        segment.close()
        if segment.base_offset < settled.segment:
            continue
        start = settled.position if segment.base_offset == settled.segment else 0
        file = files.open(segment.path)
        file.truncate(segment.size)
        for position in range(start, segment.size, _REWRITE_BYTES):
            file.write([file.pread(min(_REWRITE_BYTES, segment.size - position), position)], position)
        file.sync()
        file.close()


def cut_tail(
    files: Files, directory: str, segments: Sequence[Segment], snapshots: Sequence[int], at: LogPosition
) -> None:
    """Removes what lies at `at` and later; the snapshots that describe it go first (invariant 5 of the log)."""
    remove_snapshots(files, directory, [known for known in snapshots if known > at.offset])
    files.sync_directory(directory)
    kept = [segment for segment in segments if segment.base_offset <= at.segment]
    for segment in reversed(segments[len(kept) :]):
        remove_segment_files(segment)
    file = kept[-1].file()
    file.truncate(at.position)
    file.sync()
    files.unlink(kept[-1].index_path)
    files.sync_directory(directory)


def void_journaled(files: Files, directory: str, journal: LogJournal | None) -> None:
    """What the journal holds of the log must not come back."""
    if journal is not None:
        write_journal_floor(files, directory, journal.place)


def remove_all(files: Files, directory: str, segments: Sequence[Segment]) -> None:
    """Empties the log's directory."""
    # First of all the start offset and the snapshots, which must never lie beyond what is left.
    files.unlink(os.path.join(directory, START_FILE))
    remove_snapshots(files, directory, list_snapshots(files.list(directory)))
    files.sync_directory(directory)
    for segment in reversed(segments):
        remove_segment_files(segment)
    # Files only: the partition's stage is a directory in here, and not touched by this.
    for name in files.list(directory).keys() - {JOURNAL_FLOOR_FILE, JOURNAL_BIRTH_FILE}:
        files.unlink(os.path.join(directory, name))
    files.sync_directory(directory)
