"""Where keys, values and headers lie in the records of a batch that were read over before (engine/records/walk.py)."""

from collections.abc import Iterator
from typing import NamedTuple


class RecordParts(NamedTuple):
    """One record. Null is an end of -1."""

    key_start: int
    key_end: int
    value_start: int
    value_end: int
    headers_start: int
    """Where the number of headers is written."""
    start: int
    body_start: int
    """Behind the number that says how long the record is."""
    end: int


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A zig-zag number, and where it ends."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + 1
        shift += 7


def record_spans(data: bytes, count: int) -> Iterator[RecordParts]:
    """Of sound, uncompressed records."""
    position = 0
    for _ in range(count):
        start = position
        size, body_start = _number(data, position)
        position, end = body_start, body_start + size
        # Past the attributes, the time and the offset, which are small numbers most of the time.
        position += 1
        while data[position] >= 0x80:
            position += 1
        position += 1
        while data[position] >= 0x80:
            position += 1
        size, key_start = _number(data, position + 1)
        key_end, position = (-1, key_start) if size < 0 else (key_start + size, key_start + size)
        size, value_start = _number(data, position)
        value_end, position = (-1, value_start) if size < 0 else (value_start + size, value_start + size)
        yield RecordParts(key_start, key_end, value_start, value_end, position, start, body_start, end)
        position = end


def headers_of(data: bytes, span: RecordParts) -> Iterator[tuple[bytes, bytes | None]]:
    """The headers of a record."""
    count, position = _number(data, span.headers_start)
    for _ in range(count):
        size, position = _number(data, position)
        name = data[position : position + size]
        size, position = _number(data, position + size)
        yield name, None if size < 0 else data[position : position + size]
        position += max(size, 0)
