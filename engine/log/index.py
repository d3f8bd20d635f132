"""The sparse index of a segment: finds a batch by offset or by time without reading the segment.

One index serves both. An entry stands for a batch about every `index.interval.bytes`: (offset relative to
the segment's base, position, greatest timestamp of all batches *before* this one). Offsets and positions
rise; the timestamps never fall. By offset, the last entry at or below it is where to start walking; by time,
the last entry with nothing as late as the time asked for before it.

On disk (`<base offset>.index`): the entries; once the segment is sealed, also a trailer with the greatest
timestamp, the position of its batch, the segment size, whether it was cleaned, the number of entries and a CRC-32C
of it all; between entries and trailer stand the segment's aborted transactions (engine/log/aborted_index.py).
An index is only ever a short cut: a reader checks that the batch which it finds by an entry has that very offset, and
rebuilds the index from the segment otherwise.
"""

import struct

from attrs import define, field
from crc32c import crc32c

ENTRY = struct.Struct(">IIq")
ENTRY_SIZE = ENTRY.size
_TRAILER = struct.Struct(">8sqqqqqiiI")
_MARK = b"TGINDEX2"
_CLEANED = 1


@define
class IndexTrailer:
    """What the index of a sealed segment also knows."""

    max_timestamp: int
    max_timestamp_position: int
    first_timestamp: int
    segment_size: int
    cleaned: bool
    stable_offset: int = -1
    aborted: bytes = b""


@define(eq=False)
class SparseIndex:
    """See the module."""

    entries: bytearray | bytes = field(factory=bytearray)

    def __len__(self) -> int:
        return len(self.entries) // ENTRY_SIZE

    def add(self, relative_offset: int, position: int, max_timestamp_before: int) -> None:
        assert isinstance(self.entries, bytearray)
        self.entries += ENTRY.pack(relative_offset, position, max_timestamp_before)

    @property
    def last_position(self) -> int:
        entry: tuple[int, int, int] = ENTRY.unpack_from(self.entries, len(self.entries) - ENTRY_SIZE)
        return entry[1]

    def find_offset(self, relative_offset: int) -> tuple[int, int] | None:
        """(relative offset, position) of the last entry at or below; None: start at the segment's start."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if ENTRY.unpack_from(self.entries, middle * ENTRY_SIZE)[0] <= relative_offset:
                low = middle + 1
            else:
                high = middle
        return self._entry(low - 1)

    def find_time(self, timestamp_ms: int) -> tuple[int, int] | None:
        """(relative offset, position) of the last entry with only earlier records before it."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if ENTRY.unpack_from(self.entries, middle * ENTRY_SIZE)[2] < timestamp_ms:
                low = middle + 1
            else:
                high = middle
        return self._entry(low - 1)

    def find_position(self, position: int) -> int | None:
        """The relative offset of the first entry at `position` or later; None if there is none."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if ENTRY.unpack_from(self.entries, middle * ENTRY_SIZE)[1] < position:
                low = middle + 1
            else:
                high = middle
        entry = self._entry(low) if low < len(self) else None
        return entry[0] if entry else None

    def last_before(self, position: int) -> int:
        """Where the last batch begins that has an entry and lies at `position` or before; 0 if none has."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if ENTRY.unpack_from(self.entries, middle * ENTRY_SIZE)[1] <= position:
                low = middle + 1
            else:
                high = middle
        entry = self._entry(low - 1)
        return 0 if entry is None else entry[1]

    def _entry(self, number: int) -> tuple[int, int] | None:
        if number < 0:
            return None
        relative_offset, position, _ = ENTRY.unpack_from(self.entries, number * ENTRY_SIZE)
        return relative_offset, position

    def checksum(self, count: int) -> int:
        return int(crc32c(memoryview(self.entries)[: count * ENTRY_SIZE]))

    def truncate(self, position: int) -> None:
        """Drops entries at `position` and later."""
        while self.entries and self.last_position >= position:
            self.entries = bytearray(self.entries[:-ENTRY_SIZE])

    def seal(self, trailer: IndexTrailer) -> bytes:
        """The whole index file of a sealed segment."""
        fields = (
            _MARK,
            trailer.max_timestamp,
            trailer.max_timestamp_position,
            trailer.first_timestamp,
            trailer.segment_size,
            trailer.stable_offset,
            _CLEANED if trailer.cleaned else 0,
            len(self),
        )
        body = bytes(self.entries) + trailer.aborted + _TRAILER.pack(*fields, 0)[:-4]
        return body + struct.pack(">I", crc32c(body))


def open_sealed(data: bytes, segment_size: int) -> tuple[SparseIndex, IndexTrailer] | None:
    """A sealed index, or None if it is damaged or not that of a segment of this size."""
    content_size = len(data) - _TRAILER.size
    if content_size < 0:
        return None
    mark, max_ts, max_position, first_ts, size, stable, flags, count, crc = _TRAILER.unpack_from(data, content_size)
    entries_size = count * ENTRY_SIZE
    if mark != _MARK or size != segment_size or not 0 <= entries_size <= content_size:
        return None
    if crc32c(memoryview(data)[:-4]) != crc:
        return None
    aborted = data[entries_size:content_size]
    trailer = IndexTrailer(max_ts, max_position, first_ts, size, bool(flags & _CLEANED), stable, aborted)
    return SparseIndex(data[:entries_size]), trailer
