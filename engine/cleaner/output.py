"""Where compaction writes: new segments one after the other, none larger than `segment.bytes`."""

from engine.files.files import Files
from engine.log.aborted_index import AbortedTransaction
from engine.log.replacement import CLEANED_SUFFIX
from engine.log.segment import Segment
from engine.log.segment_writer import SegmentWriter
from engine.records.layout import BatchHeader, parse_header

# Synced in small steps: one large sync would hold up those that producers wait for.
SYNC_BYTES = 1024 * 1024


class NewSegments:
    """[thread] The new segments of a group. `end` is where the last batch ends; at the latest old segment that was
    done with, everything below `stable_offset` was decided."""

    def __init__(
        self,
        files: Files,
        directory: str,
        base_offset: int,
        created_ms: int,
        segment_bytes: int,
        index_interval_bytes: int,
    ) -> None:
        self._files = files
        self._directory = directory
        self._created_ms = created_ms
        self._segment_bytes = segment_bytes
        self._index_interval_bytes = index_interval_bytes
        self._finished: list[Segment] = []
        self._synced_bytes = 0
        self.size = 0
        self.end = base_offset
        self.stable_offset = -1
        self.changed = False
        self._writer = self._begin(base_offset)

    def _begin(self, base_offset: int) -> SegmentWriter:
        return SegmentWriter(self._files, self._directory, base_offset, self._created_ms, self._index_interval_bytes)

    def append(self, batch: bytes, aborted: AbortedTransaction | None = None) -> None:
        """With the marker of an aborted transaction comes its entry."""
        header = parse_header(batch)
        if not self._fits(header):
            self._finish_writer()
            # It begins where the one before ends, even if its first batch comes later: the segments tile the offsets.
            self._writer = self._begin(self.end)
        self._writer.append(header, (batch,), aborted)
        self.size += len(batch)
        self.end = header.next_offset
        if self.size - self._synced_bytes >= SYNC_BYTES:
            self._writer.flush()
            self._synced_bytes = self.size

    def _fits(self, header: BatchHeader) -> bool:
        size = self._writer.segment.size
        return size == 0 or size + header.size <= self._segment_bytes

    def finish(self) -> tuple[Segment, ...]:
        """Everything synced."""
        self._finish_writer()
        return tuple(self._finished)

    def _finish_writer(self) -> None:
        self._writer.segment.stable_offset = self.stable_offset
        self._finished.append(self._writer.finish())

    def abandon(self) -> None:
        """Removes what was written."""
        self._writer.abandon()
        for segment in self._finished:
            remove_cleaned(segment)


def remove_cleaned(segment: Segment) -> None:
    """Removes the files of a new segment that was not taken into the log."""
    for path in (segment.path, segment.index_path):
        segment.files.unlink(path + CLEANED_SUFFIX)
