"""Single records of a log, by their offsets: what dead letters are copied from.

A batch that holds some of them is read and opened in a thread, within the broker's bounds on what may be open at once.
What is not there (deleted, compacted, or in a batch that cannot be opened) is left out.
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from coordinators.records.opening import Opener
from coordinators.waiting import in_worker
from engine.errors import CorruptMessage, InvalidRecord, OffsetOutOfRange, StorageError
from engine.files.files import FileRegion
from engine.partition.partition import Partition
from engine.records.layout import BatchHeader, RecordSpan, parse_header, read_varint, record_section, walk_records

ONE_BATCH = 1
"""Fewer bytes than any batch has: a read gives the one that holds the offset, and no other."""


class SourceRecord(Struct, frozen=True):
    """A record as it lies in the log, by itself."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]

    @property
    def size(self) -> int:
        """Bytes, about."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class _Opened(Struct, frozen=True):
    next_offset: int
    records: Sequence[SourceRecord] = ()


async def read_records(
    partition: Partition, offsets: Sequence[int], opener: Opener, bound: int, most_bytes: int
) -> tuple[dict[int, SourceRecord], int]:
    """The records at these offsets, which are in order; and how many of the offsets were looked at: all of them, unless
    the records are more than `most_bytes` together, and at least one."""
    found: dict[int, SourceRecord] = {}
    looked, size = 0, 0
    while looked < len(offsets) and (not looked or size < most_bytes):
        region = _region(partition, offsets[looked])
        if region is None:
            looked += 1
            continue
        async with opener.room.holding(bound + region.size), opener.room.threads:
            opened = await in_worker(opener.workers, _opened, region, frozenset(offsets[looked:]), bound)
        if isinstance(opened, StorageError):
            raise opened
        for record in opened.records:
            found[record.offset] = record
            size += record.size
        looked += max(1, sum(offset < opened.next_offset for offset in offsets[looked:]))
    return found, looked


def _region(partition: Partition, offset: int) -> FileRegion | None:
    """Where the batch lies that holds an offset, or follows it; None if there is none."""
    if offset < partition.log.start_offset:
        return None
    try:
        read = partition.read(offset, ONE_BATCH, at_least_one=True).log_read
    except OffsetOutOfRange:
        return None
    if read is None:
        raise StorageError(f"offset {offset} cannot be read now")
    return read.regions[0] if read.regions else None


def _opened(region: FileRegion, wanted: Collection[int], bound: int) -> _Opened | StorageError:
    """[thread] The wanted records of a batch, and the offset behind it."""
    try:
        data = region.read()
    except OSError as error:
        return StorageError(f"a batch cannot be read: {error}")
    header = parse_header(data)
    if header.is_control:
        return _Opened(header.next_offset)
    try:
        section = memoryview(record_section(header, memoryview(data), bound))
        return _Opened(header.next_offset, [_alone(header, span) for span in _spans(header, section, wanted)])
    except (CorruptMessage, InvalidRecord):
        # Damaged, or larger than may be opened: so it will be the next time, too.
        return _Opened(header.next_offset)


def _spans(header: BatchHeader, section: memoryview, wanted: Collection[int]) -> Iterator[RecordSpan]:
    """The wanted records of a batch. Those of one that is as its producer made it are passed over by their lengths."""
    base, count = header.base_offset, header.record_count
    if count != header.last_offset_delta + 1:
        yield from (each for each in walk_records(section, count) if base + each.offset_delta in wanted)
        return
    left = sum(base <= offset < base + count for offset in wanted)
    position, end = 0, len(section)
    for offset in range(base, base + count):
        start = position
        size, position = read_varint(section, position, end)
        if not 0 < size <= end - position:
            raise InvalidRecord(f"a record claims {size} bytes where {end - position} remain")
        position += size
        if offset in wanted:
            yield next(walk_records(section[start:position], 1))
            left -= 1
            if not left:
                return


def _alone(header: BatchHeader, span: RecordSpan) -> SourceRecord:
    """Without the batch that it lay in."""
    timestamp_ms = header.max_timestamp if header.is_log_append_time else header.base_timestamp + span.timestamp_delta
    key, value = (None if field is None else bytes(field) for field in (span.key, span.value))
    headers = tuple((bytes(name), None if value is None else bytes(value)) for name, value in span.headers)
    return SourceRecord(header.base_offset + span.offset_delta, timestamp_ms, key, value, headers)
