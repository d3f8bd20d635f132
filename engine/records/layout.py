"""Record batches, format v2, as they lie on the wire and on disk.

The header (61 bytes) is all that most of the broker looks at. `walk_records` opens the records themselves:
it is strict, because the bytes come from clients; whatever they hold, it yields records or raises
`InvalidRecord`.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attrs import frozen
from crc32c import crc32c

from engine.errors import CorruptMessage, InvalidRecord, UnsupportedMessageFormat
from engine.files.files import Buffer
from engine.records.compression import MAX_DECOMPRESSED_BYTES, NONE, decompress

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
# Base offset, length, leader epoch: what the broker sets. The checksum does not cover it.
PREFIX = struct.Struct(">qii")
PREFIX_SIZE = PREFIX.size
# Base offset and length are not counted by the length field.
LENGTH_OVERHEAD = 12
CHECKSUM_END = 21
MAGIC_POSITION = 16
MAGIC = 2

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40
CLIENT_BITS = CODEC_MASK | TRANSACTIONAL_FLAG
"""What a client may say in a batch's attributes. All other bits are the broker's, or nobody's yet."""

CONTROL_KEY = struct.Struct(">hh")
"""What the key of a control record begins with: a version, and what kind it is."""

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
MAX_OFFSET = 2**63 - 1


_as_header = tuple.__new__


class BatchHeader(NamedTuple):
    """A batch's header; a tuple because one is made for every batch that passes through."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_FLAG)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def is_hollow(self) -> bool:
        """Whether it holds nothing that a reader could be given or would have to know."""
        return self.record_count == 0 or (self.producer_id == NO_PRODUCER_ID and bool(self.attributes & CONTROL_FLAG))

    def pack(self) -> bytes:
        return HEADER.pack(*self)


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The 61 bytes at `position`; they must be there."""
    # What `_make` does, without its call: every batch passes here.
    return _as_header(BatchHeader, HEADER.unpack_from(buffer, position))


def is_framed(header: BatchHeader) -> bool:
    """Whether these can be a v2 batch's header at all."""
    return header.length >= HEADER_SIZE - LENGTH_OVERHEAD and header.magic == MAGIC


def checksum(batch: memoryview) -> int:
    return int(crc32c(batch[CHECKSUM_END:]))


def split_batches(records: Buffer) -> list[tuple[BatchHeader, memoryview]]:
    """The whole batches that `records` consists of; anything else is refused."""
    view = memoryview(records)
    total = len(view)
    found: list[tuple[BatchHeader, memoryview]] = []
    position = 0
    while position < total:
        if total - position > MAGIC_POSITION and view[position + MAGIC_POSITION] != MAGIC:
            _refuse_magic(view[position + MAGIC_POSITION])
        if total - position < HEADER_SIZE:
            raise CorruptMessage(f"{total - position} bytes are less than a batch header")
        header = BatchHeader._make(HEADER.unpack_from(view, position))
        size = header.length + LENGTH_OVERHEAD
        if not HEADER_SIZE <= size <= total - position:
            raise CorruptMessage(f"a batch claims {size} bytes where {total - position} remain")
        found.append((header, view[position : position + size]))
        position += size
    return found


def whole_batches_size(records: Buffer) -> int:
    """How many of the bytes are whole batches; the last may be cut off."""
    view = memoryview(records)
    total, position = len(view), 0
    while total - position >= HEADER_SIZE:
        size = PREFIX.unpack_from(view, position)[1] + LENGTH_OVERHEAD
        if size < HEADER_SIZE:
            raise CorruptMessage(f"a batch claims {size} bytes, less than its header has")
        if size > total - position:
            break
        position += size
    return position


def _refuse_magic(magic: int) -> None:
    if magic in (0, 1):
        raise UnsupportedMessageFormat(f"record format v{magic} is no longer taken, only v{MAGIC}")
    raise CorruptMessage(f"unknown record format {magic}")


@frozen
class RecordSpan:
    """One record inside an uncompressed record section."""

    start: int
    end: int
    offset_delta: int
    timestamp_delta: int
    key: memoryview | None
    value: memoryview | None
    headers: tuple[tuple[memoryview, memoryview | None], ...]


def record_section(header: BatchHeader, batch: memoryview, bound: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
    """The records of a batch, uncompressed."""
    section = batch[HEADER_SIZE : header.size]
    return section if header.codec == NONE else decompress(header.codec, section, bound)


def walk_records(section: Buffer, count: int) -> Iterator[RecordSpan]:
    """Every record of a section; there must be exactly `count` and nothing besides."""
    view = memoryview(section)
    end = len(view)
    position = 0
    for _ in range(count):
        start = position
        size, position = read_varint(view, position, end)
        if not 0 < size <= end - position:
            raise InvalidRecord(f"a record claims {size} bytes where {end - position} remain")
        record_end = position + size
        yield _record(view, start, position, record_end)
        position = record_end
    if position != end:
        raise InvalidRecord(f"{end - position} bytes follow the last of {count} records")


def _record(view: memoryview, start: int, position: int, end: int) -> RecordSpan:
    timestamp_delta, position = read_varint(view, position + 1, end)
    offset_delta, position = read_varint(view, position, end)
    key, position = _bytes(view, position, end)
    value, position = _bytes(view, position, end)
    header_count, position = read_varint(view, position, end)
    if not 0 <= header_count <= end - position:
        raise InvalidRecord(f"a record claims {header_count} headers where {end - position} bytes remain")
    headers = []
    for _ in range(header_count):
        name, position = _bytes(view, position, end)
        if name is None:
            raise InvalidRecord("a record header without a name")
        content, position = _bytes(view, position, end)
        headers.append((name, content))
    if position != end:
        raise InvalidRecord(f"{end - position} bytes follow a record's headers")
    return RecordSpan(start, end, offset_delta, timestamp_delta, key, value, tuple(headers))


def _bytes(view: memoryview, position: int, end: int) -> tuple[memoryview | None, int]:
    size, position = read_varint(view, position, end)
    if size < 0:
        if size != -1:
            raise InvalidRecord(f"a field claims {size} bytes")
        return None, position
    if size > end - position:
        raise InvalidRecord(f"a field claims {size} bytes where {end - position} remain")
    return view[position : position + size], position + size


def read_varint(view: memoryview, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most ten bytes, and where it ends."""
    if position < end and (byte := view[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1  # nearly all of them
    result = shift = 0
    while position < end and shift < 70:
        byte = view[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position
        shift += 7
    raise InvalidRecord("a number inside a record does not end")


def varint(value: int) -> bytes:
    """`value` as a zigzag varint."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def pack_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    """One record; for what the broker writes itself (markers, tests), not for the produce path."""
    body = b"\x00" + varint(timestamp_delta) + varint(offset_delta) + _pack_bytes(key) + _pack_bytes(value)
    body += varint(len(headers)) + b"".join(_pack_bytes(n) + _pack_bytes(v) for n, v in headers)
    return varint(len(body)) + body


def _pack_bytes(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def seal_batch(header: BatchHeader, section: Buffer) -> bytes:
    """A whole batch from a header and its (compressed) records: length and checksum are set."""
    fixed = header._replace(length=HEADER_SIZE - LENGTH_OVERHEAD + len(section), magic=MAGIC, crc=0)
    crc = crc32c(section, crc32c(memoryview(fixed.pack())[CHECKSUM_END:]))
    return fixed._replace(crc=crc).pack() + bytes(section)


def build_batch(
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytes:
    """An uncompressed batch of (key, value) pairs of one time."""
    return pack_batch(
        [pack_record(i, 0, key, value) for i, (key, value) in enumerate(records)],
        (timestamp_ms, timestamp_ms),
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        attributes=attributes,
    )


def pack_batch(
    packed: Sequence[bytes],
    times: tuple[int, int],
    *,
    base_offset: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytes:
    """An uncompressed batch of records that are packed already; `times` are its base and its greatest timestamp."""
    count = len(packed)
    header = BatchHeader(
        base_offset, 0, -1, MAGIC, 0, attributes, count - 1, *times, producer_id, producer_epoch, base_sequence, count
    )
    return seal_batch(header, b"".join(packed))
