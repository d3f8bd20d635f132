"""From staged records to the batches that are released into the partition log.

A released record keeps its key, value, headers and create time. It gets a new place in a new batch, and its one-shot
headers are renamed, so that a consumer which forwards what it reads does not delay it once more.
"""

import struct
from collections.abc import Sequence

from engine.errors import InvalidRecord
from engine.files.files import Buffer
from engine.records.compression import NONE
from engine.records.layout import (
    CONTROL_FLAG,
    MAGIC,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    pack_record,
    seal_batch,
)
from engine.stage.codecs import asking_for
from engine.stage.numbers import read_long, varint

ONE_SHOT_HEADERS = (b"tide-delay", b"tide-deliver-at", b"tide-schedule-id")
RENAMED_PREFIX = b"__"

# Version 0, and a kind of control record that is neither Kafka's nor one of a stage's own events.
_HOLE_KEY = struct.pack(">hh", 0, 99)

_KEY_AND_VALUE = ("key", "value")
_LONG_RANGE = 2**64
_LONG_MAX = 2**63 - 1
# By name: what stands in its place, the length before it.
_RENAMED = {name: varint(len(RENAMED_PREFIX + name)) + RENAMED_PREFIX + name for name in ONE_SHOT_HEADERS}
_RENAMED_SIZES = frozenset(2 * len(name) for name in ONE_SHOT_HEADERS)


def released_record(record: Buffer, offset_delta: int, timestamp_delta: int) -> bytes:
    """The record to release for a staged one, both with their length prefix."""
    data = record if isinstance(record, bytes) else bytes(record)
    try:
        attributes, content = _content(data)
    except IndexError:
        raise InvalidRecord("a staged record ends early") from None
    body = b"".join((attributes, varint(timestamp_delta), varint(offset_delta), *content))
    return varint(len(body)) + body


def released_batch(records: Sequence[tuple[Buffer, int]], released_ms: int, codec: int = NONE) -> bytes:
    """One batch of staged records, each with its create time, in this order, that asks to be put in a codec.

    Its base timestamp is the time of the release, from which retention counts; the greatest create time is its
    max timestamp, as lookups by time expect it.
    """
    assert records, "a batch without records is made by hole_batch"
    created = [_long(created_ms) for _record, created_ms in records]
    section = b"".join(
        released_record(record, number, _long(created_ms - released_ms))
        for number, ((record, _), created_ms) in enumerate(zip(records, created, strict=True))
    )
    header = _header(len(records), released_ms, max(created), len(records))
    return seal_batch(header._replace(attributes=asking_for(codec)), section)


def hole_batch(count: int, released_ms: int) -> bytes:
    """A batch that uses up `count` offsets and gives nobody anything; no lookup by time finds it.

    It is a control batch, like the end of a transaction, which every client steps over in silence. After some ten
    answers of batches without any record librdkafka tells its application that a message is too large; and of a control
    batch aiokafka wants at least one record."""
    assert count > 0, "a batch uses up at least one offset"
    header = _header(count, released_ms, NO_TIMESTAMP, 1)._replace(attributes=CONTROL_FLAG)
    return seal_batch(header, pack_record(count - 1, 0, _HOLE_KEY, b""))


def _header(offset_count: int, base_timestamp: int, max_timestamp: int, record_count: int) -> BatchHeader:
    return BatchHeader(
        0, 0, -1, MAGIC, 0, 0, offset_count - 1, base_timestamp, max_timestamp, NO_PRODUCER_ID, -1, -1, record_count
    )


def _content(data: bytes) -> tuple[bytes, list[bytes]]:
    """A record's attributes, and the pieces from its key on, headers renamed; IndexError if it ends early.

    As in `headers.py`, numbers of one byte are read in place, and an odd one is negative. The three numbers that are
    written anew are passed over: that they agree with the rest is seen by where that ends.
    """
    position = 0
    while data[position] > 0x7F:
        position += 1
    attributes = data[position + 1 : position + 2]
    position += 2
    while data[position] > 0x7F:
        position += 1
    position += 1
    while data[position] > 0x7F:
        position += 1
    start = position = position + 1
    for _field in _KEY_AND_VALUE:
        size = data[position]
        position += 1
        if size > 0x7F:
            size, position = read_long(data, position)
        if size & 1 and size != 1:
            raise InvalidRecord("a field of a staged record has a negative size")
        position += size >> 1
    count = data[position]
    position += 1
    if not count:
        end, pieces = position, [data[start:]]
    else:
        if count > 0x7F:
            count, position = read_long(data, position)
        if count & 1 or count >> 1 > len(data) - position:
            raise InvalidRecord(f"a staged record claims more headers than {len(data) - position} bytes hold")
        end, pieces = _rename(data, start, position, count >> 1)
    if end != len(data):
        raise InvalidRecord("a staged record's fields are not as long as the record")
    return attributes, pieces


def _rename(data: bytes, kept: int, position: int, count: int) -> tuple[int, list[bytes]]:
    """Where the headers at `position` end, and the pieces from `kept` on with the one-shot ones renamed."""
    pieces: list[bytes] = []
    for _ in range(count):
        start = position
        size = data[position]
        position += 1
        if size > 0x7F:
            size, position = read_long(data, position)
        if size & 1:
            raise InvalidRecord("a header of a staged record has no name")
        name_start = position
        position += size >> 1
        if size in _RENAMED_SIZES and (renamed := _RENAMED.get(data[name_start:position])):
            pieces += (data[kept:start], renamed)
            kept = position
        size = data[position]
        position += 1
        if size > 0x7F:
            size, position = read_long(data, position)
        if size & 1 and size != 1:
            raise InvalidRecord("a header of a staged record has a negative size")
        position += size >> 1
    pieces.append(data[kept:])
    return position, pieces


def _long(value: int) -> int:
    """The number as 64 bits hold it: times of nonsensical records wrap around, as they do in clients."""
    return (value + _LONG_MAX + 1) % _LONG_RANGE - _LONG_MAX - 1
