"""Opening a batch for its keys alone: the walk that compaction makes over every record, so it is kept lean.

It checks what it uses (lengths, key, whether there is a value); `engine.records.layout.walk_records` checks all.
"""

from engine.errors import InvalidRecord
from engine.records.layout import read_varint, varint

# Where it starts and ends, its offset delta, its key, whether it has a value.
KeyedRecord = tuple[int, int, int, bytes | None, bool]


def keyed_records(section: bytes, count: int, last_delta: int) -> list[KeyedRecord]:
    """The records of an uncompressed section: exactly `count`, at rising offset deltas up to `last_delta`; anything
    else is an `InvalidRecord`."""
    found: list[KeyedRecord] = []
    add = found.append
    position, end = 0, len(section)
    expected = 0
    try:
        for _ in range(count):
            start = position
            # Zigzag varints of one byte, then of two, are read here; a call for each would double the time.
            size = section[position]
            position += 1
            if size > 0x7F:
                if section[position] > 0x7F:
                    size, position = _raw_number(section, start)
                else:
                    size = size & 0x7F | section[position] << 7
                    position += 1
            record_end = position + (size >> 1)
            # Past the attributes and the first byte of the timestamp delta.
            position += 2
            while section[position - 1] > 0x7F:
                position += 1
            delta = section[position]
            position += 1
            if delta > 0x7F:
                if section[position] > 0x7F:
                    delta, position = _raw_number(section, position - 1)
                else:
                    delta = delta & 0x7F | section[position] << 7
                    position += 1
            if (size | delta) & 1:
                raise InvalidRecord(f"a record at byte {start} has a negative size or offset delta")
            delta >>= 1
            key_size = section[position]
            position += 1
            if key_size & 0x81:
                key_size, position = _number(section, position - 1)
            else:
                key_size >>= 1
            key_end = position + key_size if key_size > 0 else position
            # -1, no value, is the byte 1.
            has_value = section[key_end] != 1
            if key_end >= record_end or record_end > end or delta < expected:
                raise InvalidRecord(
                    f"a record of {size >> 1} bytes with offset delta {delta} cannot stand at byte {start}"
                )
            add((start, record_end, delta, section[position:key_end] if key_size >= 0 else None, has_value))
            position, expected = record_end, delta + 1
    except IndexError:
        raise InvalidRecord("a record goes on past the end of its batch") from None
    if position != end or expected > last_delta + 1:
        raise InvalidRecord(
            f"{count} records end at byte {position} of {end}, offset delta {expected} of {last_delta + 1}"
        )
    return found


def _raw_number(section: bytes, position: int) -> tuple[int, int]:
    """A varint before its zigzag is undone, and where it ends."""
    number, end = _number(section, position)
    return number * 2 if number >= 0 else -2 * number - 1, end


def _number(section: bytes, position: int) -> tuple[int, int]:
    return read_varint(memoryview(section), position, len(section))


def timestamp_delta(section: bytes, start: int) -> int:
    """The timestamp delta of the record at `start`."""
    _, position = _number(section, start)
    return _number(section, position + 1)[0]


def with_timestamp_delta(section: bytes, start: int, end: int, shift_ms: int) -> bytes:
    """The record with its timestamp delta greater by `shift_ms`."""
    _, position = _number(section, start)
    delta, rest = _number(section, position + 1)
    body = section[position : position + 1] + varint(delta + shift_ms) + section[rest:end]
    return varint(len(body)) + body
