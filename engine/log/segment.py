"""A segment: a file of batches from its base offset on, with its sparse index.

The segment that is written to (the active one) keeps its index in memory, and the places of its latest
batches, so that reading the tail needs no search on disk. A sealed segment opens its file and its index when
somebody reads it, and holds neither for long.
"""

import os
import weakref
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain

from attrs import define, field

from engine.errors import CorruptMessage
from engine.files.files import File, Files, read_whole
from engine.log.aborted_index import AbortedIndex
from engine.log.index import IndexTrailer, SparseIndex, open_sealed
from engine.log.types import LogConfig
from engine.records.layout import (
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    checksum,
    is_framed,
    parse_header,
)

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
# Relative offsets in the index are 32 bits; Kafka's own limit is the signed range.
MAX_RELATIVE_OFFSET = 2**31 - 1
_WALK_BYTES = 4096
_SCAN_BYTES = 1024 * 1024
_RECENT_BATCHES = 1000


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020d}"


def walk_headers(file: File, position: int, end: int, follows: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of every batch in [position, end); `CorruptMessage` where the chain breaks. Where there are no
    gaps, the first batch has the offset `follows` and every other one that after its neighbour."""
    chunk, chunk_start, last_offset = b"", position, -1
    while position < end:
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            chunk, chunk_start, at = file.pread(min(_WALK_BYTES, end - position), position), position, 0
        header = parse_header(chunk, at) if len(chunk) >= HEADER_SIZE else None
        if header is None or not is_framed(header) or position + header.size > end or header.base_offset <= last_offset:
            raise CorruptMessage(f"{file.path} is damaged at byte {position}")
        last_offset = header.last_offset
        if follows is not None:
            # The checksum does not cover the offset: its neighbours tell whether it is right.
            if header.base_offset != follows:
                text = f"{file.path} is damaged at byte {position}: offset {header.base_offset}, {follows} comes next"
                raise CorruptMessage(text)
            follows = last_offset + 1
        yield position, header
        position += header.size


def scan_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader, bool]]:
    """(position, header, whether its checksum holds) of every framed batch; ends where framing breaks."""
    chunk, chunk_start = memoryview(b""), position
    while end - position >= HEADER_SIZE:
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            chunk, chunk_start, at = memoryview(file.pread(_SCAN_BYTES, position)), position, 0
        if len(chunk) < HEADER_SIZE:
            return
        header = parse_header(chunk, at)
        if not is_framed(header) or position + header.size > end:
            return
        if at + header.size > len(chunk):
            size = max(_SCAN_BYTES, header.size)
            chunk, chunk_start, at = memoryview(file.pread(size, position)), position, 0
        yield position, header, checksum(chunk[at : at + header.size]) == header.crc
        position += header.size


@define(eq=False)
class Segment:
    """See the module. `size` is where the next batch goes; bytes beyond it do not exist for readers."""

    files: Files = field(repr=False)
    directory: str
    base_offset: int
    size: int = 0
    created_ms: int = 0
    index: SparseIndex | None = field(default=None, repr=False, init=False)
    max_timestamp: int = NO_TIMESTAMP
    max_timestamp_position: int = field(default=0, init=False)
    first_timestamp: int = NO_TIMESTAMP
    sealed: bool = False
    cleaned: bool = False
    gapless: bool = field(default=False, init=False)
    """Whether every offset is in it, as where neither compaction nor a leader that compacts leaves any out."""
    index_saved: bool = field(default=False, init=False)
    saved_entries: int = field(default=0, init=False)
    aborted: AbortedIndex | None = field(default=None, repr=False, init=False)
    stable_offset: int = field(default=-1, init=False)
    latest_release_ms: int | None = field(default=None, init=False)
    """Known once retention has looked for it (engine/cleaner/segment_times.py)."""
    _indexed_position: int = field(default=0, init=False)
    used: bool = field(default=False, init=False)
    """Whether its file was asked for since somebody last looked (engine/files/relief.py)."""
    _pinned: bool = field(default=False, init=False)
    _file: File | None = field(default=None, init=False)
    _file_reference: "weakref.ref[File] | None" = field(default=None, init=False)
    _recent_lasts: list[int] = field(factory=list, repr=False, init=False)
    _recent_positions: list[int] = field(factory=list, repr=False, init=False)
    _located: tuple[int, tuple[int, int]] | None = field(default=None, init=False)
    """The offset that was asked for last and where it is: answering a fetch takes it twice."""

    @property
    def path(self) -> str:
        return os.path.join(self.directory, segment_name(self.base_offset) + LOG_SUFFIX)

    @property
    def index_path(self) -> str:
        return os.path.join(self.directory, segment_name(self.base_offset) + INDEX_SUFFIX)

    def file(self) -> File:
        """The open file; a sealed segment's is held weakly, and the latest used by `Files`."""
        file = self._file
        if file is not None and not self.sealed:
            self.used = True
            return file
        file = file or (self._file_reference() if self._file_reference else None)
        if file is None:
            file = self.files.open(self.path)
        if self.sealed and not self._pinned:
            self._file, self._file_reference = None, weakref.ref(file)
            self.files.keep_open(file)
        else:
            self._file = file
        return file

    def file_to_sync(self) -> File:
        """The same for who only syncs it, which does not count as use."""
        return self._file or self.file()

    @property
    def holds_file(self) -> bool:
        """Whether it keeps its file open."""
        return self._file is not None

    def let_go(self) -> None:
        """Drops the reference to its file, of which everything is synced: an error in writing what was not yet would be
        told to this descriptor only. Who uses the file keeps it open, and it is found again until then."""
        if self._file is not None and not self._pinned:
            self._file_reference, self._file = weakref.ref(self._file), None

    @property
    def names(self) -> tuple[str, str]:
        """The names of its files inside the directory."""
        name = segment_name(self.base_offset)
        return name + LOG_SUFFIX, name + INDEX_SUFFIX

    def pin(self) -> File:
        """Holds file and index for good: their names are about to belong to others."""
        self.loaded_index()
        self._file, self._pinned = self.file(), True
        return self._file

    def create_file(self) -> File:
        self._file = self.files.open(self.path, create=True)
        self.index = SparseIndex()
        self.aborted = AbortedIndex()
        return self._file

    def must_roll(self, config: LogConfig, total: int, headers: Sequence[BatchHeader], now_ms: int) -> bool:
        """Whether `total` bytes of batches no longer belong here: by size, by age, by the range of offsets."""
        if headers[-1].last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if self.size == 0:
            return False
        if self.size + total > config.segment_bytes:
            return True
        if self.first_timestamp >= 0:
            return headers[-1].max_timestamp - self.first_timestamp > config.segment_ms
        return now_ms - self.created_ms > config.segment_ms

    def has_room(self, config: LogConfig, total: int, last_offset: int, max_timestamp: int) -> bool:
        """Whether a batch surely belongs here; False where `must_roll` has to decide."""
        return (
            0 < self.size <= config.segment_bytes - total
            and last_offset - self.base_offset <= MAX_RELATIVE_OFFSET
            and 0 <= self.first_timestamp >= max_timestamp - config.segment_ms
        )

    def note_batch(self, header: BatchHeader, base_offset: int, index_interval_bytes: int) -> None:
        """Takes a batch that was written at `size` into account."""
        position = self.size
        if position - self._indexed_position >= index_interval_bytes:
            assert self.index is not None
            self.index.add(base_offset - self.base_offset, position, self.max_timestamp)
            self._indexed_position = position
        if header.max_timestamp > self.max_timestamp:
            self.max_timestamp = header.max_timestamp
            self.max_timestamp_position = position
        if position == 0:
            self.first_timestamp = header.max_timestamp
        lasts = self._recent_lasts
        lasts.append(base_offset + header.last_offset_delta)
        self._recent_positions.append(position)
        if len(lasts) > 2 * _RECENT_BATCHES:
            del lasts[:_RECENT_BATCHES]
            del self._recent_positions[:_RECENT_BATCHES]
        self.size = position + header.length + LENGTH_OVERHEAD

    def locate(self, offset: int) -> tuple[int, int] | None:
        """(position, size) of the first batch that ends at or after `offset`; None if all end before."""
        if self._recent_lasts and offset > self._recent_lasts[0]:
            return self._locate_recent(offset)
        located = self._located
        if located is not None and located[0] == offset:
            return located[1]
        entry = self.loaded_index().find_offset(offset - self.base_offset)
        for position, header in self._walk_from(entry):
            if header.last_offset >= offset:
                if self.gapless and header.base_offset > offset:
                    raise CorruptMessage(f"{self.path} goes on at offset {header.base_offset}: {offset} is missing")
                self._located = offset, (position, header.size)
                return position, header.size
        return None

    def _locate_recent(self, offset: int) -> tuple[int, int] | None:
        number = bisect_left(self._recent_lasts, offset)
        positions = self._recent_positions
        if number == len(positions):
            return None
        end = positions[number + 1] if number + 1 < len(positions) else self.size
        return positions[number], end - positions[number]

    def recent_bound(self, offset: int, size: int) -> int | None:
        """Where the last batch ends that lies, if only in part, within `size` bytes from the batch that holds `offset`;
        None if that one is not among the last that were written here."""
        lasts, positions = self._recent_lasts, self._recent_positions
        if not lasts or not lasts[0] < offset <= lasts[-1]:
            return None
        number = bisect_left(lasts, offset)
        return lasts[bisect_left(positions, positions[number] + size, number + 1) - 1] + 1

    def _walk_from(self, entry: tuple[int, int] | None) -> Iterator[tuple[int, BatchHeader]]:
        """Batches from an index entry on, if the batch there proves to be the entry's; else the index is rebuilt."""
        if entry is not None:
            relative_offset, position = entry
            follows = self.base_offset + relative_offset if self.gapless else None
            walk = walk_headers(self.file(), position, self.size, follows)
            try:
                first = next(walk, None)
            except CorruptMessage:
                first = None
            if first is not None and first[1].base_offset == self.base_offset + relative_offset:
                return chain((first,), walk)
            self.rebuild_index()
        return self._walk_all()

    def _walk_all(self) -> Iterator[tuple[int, BatchHeader]]:
        return walk_headers(self.file(), 0, self.size, self.base_offset if self.gapless else None)

    def read_end_offset(self) -> int:
        """[thread] Where its last batch ends, found from the index's last entry on."""
        index = self.loaded_index()
        end_offset = self.base_offset
        for _, header in self._walk_from(index.find_offset(MAX_RELATIVE_OFFSET)):
            end_offset = header.next_offset
        return end_offset

    def batches_by_time(self, timestamp_ms: int) -> Iterator[tuple[int, BatchHeader]]:
        """Batches from where a record as late as `timestamp_ms` may first stand."""
        entry = self.loaded_index().find_time(timestamp_ms)
        return self._walk_from(entry)

    def loaded_index(self) -> SparseIndex:
        """The index, read or rebuilt if need be; also in a thread, while others read the segment."""
        index = self.index
        return self._load_index() if index is None else index

    def _load_index(self) -> SparseIndex:
        data = read_whole(self.files, self.index_path)
        opened = open_sealed(data, self.size) if data else None
        if opened is None:
            return self.rebuild_index()
        index, trailer = opened
        self.max_timestamp, self.max_timestamp_position = trailer.max_timestamp, trailer.max_timestamp_position
        self.first_timestamp, self.cleaned = trailer.first_timestamp, trailer.cleaned
        self.aborted, self.stable_offset = AbortedIndex(trailer.aborted), trailer.stable_offset
        self.index, self.index_saved = index, True
        return index

    def loaded_aborted(self) -> AbortedIndex | None:
        """The aborted transactions; None if they have to be rebuilt, which takes the segments before this one."""
        self.loaded_index()
        return self.aborted

    def rebuild_index(self, interval_bytes: int = 4096) -> SparseIndex:
        """Reads all headers anew; raises `CorruptMessage` if the segment itself is damaged."""
        fresh = Segment(self.files, self.directory, self.base_offset)
        fresh.reset()
        for _, header in self._walk_all():
            fresh.note_batch(header, header.base_offset, interval_bytes)
        assert fresh.index is not None
        if fresh.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_position = fresh.max_timestamp, fresh.max_timestamp_position
        self.first_timestamp, self._indexed_position = fresh.first_timestamp, fresh._indexed_position
        self.index_saved, self.saved_entries = False, 0
        self.index = fresh.index
        return fresh.index

    def reset(self) -> None:
        """Forgets what is known of the content, to read it again."""
        self.size = self._indexed_position = self.max_timestamp_position = 0
        self.max_timestamp = self.first_timestamp = NO_TIMESTAMP
        self.index = SparseIndex()
        self.aborted = AbortedIndex()
        self.index_saved = False
        self.saved_entries = 0
        self._recent_lasts, self._recent_positions, self._located = [], [], None

    def resume(self, index: SparseIndex, size: int, max_timestamp: int, max_timestamp_position: int) -> None:
        """Goes on from a snapshot's knowledge of the first `size` bytes."""
        self.reset()
        self.index, self.size = index, size
        self.max_timestamp, self.max_timestamp_position = max_timestamp, max_timestamp_position
        self._indexed_position = index.last_position if len(index) else 0

    def trailer(self) -> IndexTrailer:
        return IndexTrailer(
            self.max_timestamp,
            self.max_timestamp_position,
            self.first_timestamp,
            self.size,
            self.cleaned,
            self.stable_offset,
            bytes(self.aborted.content) if self.aborted is not None else b"",
        )

    def seal(self) -> None:
        """No more is written here: the file is from now on held weakly, the tail's places are dropped."""
        self.sealed = True
        self._recent_lasts, self._recent_positions = [], []

    def release(self) -> None:
        """Drops what can be read again from disk."""
        if self.sealed and self.index_saved and not self._pinned:
            self.index = self.aborted = None

    def close(self) -> None:
        file = self._file or (self._file_reference() if self._file_reference else None)
        if not self._pinned:
            # A pinned one goes with the last reader: opened again by name, it would be another's.
            self._file = self._file_reference = None
        if file is not None:
            self.files.forget(file)
