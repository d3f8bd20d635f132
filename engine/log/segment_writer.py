"""Writes the segments that will replace others: same offsets, fewer records.

[thread] The files end in `.cleaned` until `Log.replace_segments` makes them the log's. What is written must
keep every transaction marker of which a batch remains, aborted ones together with their entry among the aborted
transactions, and no such entry without its marker. And it must tile the offsets that it replaces: the first segment
has the old first base offset, and each one's last batch (empty if need be) ends where the next begins.
"""

from collections.abc import Sequence

from engine.files.files import Buffer, Files
from engine.log.aborted_index import AbortedTransaction
from engine.log.replacement import CLEANED_SUFFIX
from engine.log.segment import Segment
from engine.records.layout import BatchHeader


class SegmentWriter:
    """One new segment."""

    def __init__(
        self, files: Files, directory: str, base_offset: int, created_ms: int, interval_bytes: int = 4096
    ) -> None:
        self.segment = Segment(files, directory, base_offset, created_ms=created_ms, cleaned=True)
        self._interval_bytes = interval_bytes
        self._files = files
        self._file = files.open(self.segment.path + CLEANED_SUFFIX, create=True)
        self._file.truncate(0)
        self.segment.reset()

    def append(self, header: BatchHeader, batch: Sequence[Buffer], aborted: AbortedTransaction | None = None) -> None:
        """Appends a whole batch that keeps its offsets; `header` is its own, `aborted` the entry of a marker."""
        self._file.write(batch, self.segment.size)
        self.segment.note_batch(header, header.base_offset, self._interval_bytes)
        if aborted is not None:
            assert self.segment.aborted is not None
            self.segment.aborted.add(aborted)

    def flush(self) -> None:
        """Syncs what was written so far, so that `finish` has little left to wait for."""
        self._file.sync()

    def finish(self) -> Segment:
        """Syncs everything; the segment is ready to replace others."""
        self._file.sync()
        self._file.close()
        segment = self.segment
        segment.seal()
        _write_index(segment, segment.loaded_index().seal(segment.trailer()))
        segment.index_saved = True
        segment.release()
        return segment

    def abandon(self) -> None:
        """Removes what was written."""
        self._file.close()
        for name in (self.segment.path, self.segment.index_path):
            self._files.unlink(name + CLEANED_SUFFIX)


def _write_index(segment: Segment, content: bytes) -> None:
    index = segment.files.open(segment.index_path + CLEANED_SUFFIX, create=True)
    index.truncate(0)
    index.write([content], 0)
    index.sync()
    index.close()
