"""Whether a batch holds the records that its header tells of, as every client must be able to read them.

Sound are: as many records as counted, offset deltas 0, 1, 2, ..., lengths that fill each record and the section to
the last byte, numbers of no more bits than Kafka's readers take. What lies in keys, values and headers is the clients'.

There are two forms. `_walk.c` is compiled where there is a compiler (`python -m tools.compile`, and when a
wheel is built); the one below does the same in Python, a hundred times as slowly, and also says what is wrong.
"""

from contextlib import suppress
from typing import NoReturn

from engine.errors import InvalidRecord
from engine.files.files import Buffer

VERSION = 4
INT, LONG = 32, 64
"""Bits of the numbers inside records."""
SMALLEST_RECORD_BYTES = 7
NULL = 1
"""The length of nothing, as it is written."""


class _Unsound(Exception):
    """What is wrong with a record."""


def _number(data: bytes | memoryview, position: int, end: int, bits: int) -> tuple[int, int]:
    if position < end and (byte := data[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    result = shift = 0
    while position < end and shift < bits:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if result >> bits:
                break
            return (result >> 1) ^ -(result & 1), position
        shift += 7
    raise _Unsound(f"a number does not end, or is larger than {bits} bits")


def _field(data: bytes | memoryview, position: int, end: int, name: str) -> tuple[int, int]:
    """The size of a field, -1 if it is null, and where it ends."""
    size, position = _number(data, position, end, INT)
    if size < -1 or size > end - position:
        raise _Unsound(f"its {name} claims {size} bytes where {end - position} remain")
    return size, position + max(size, 0)


def _record(data: bytes | memoryview, position: int, total: int, index: int) -> tuple[bool, int]:
    """Whether the record at `position` has a key, and where it ends."""
    size, position = _number(data, position, total, INT)
    if not 0 < size <= total - position:
        raise _Unsound(f"it claims {size} bytes where {total - position} remain")
    end = position + size
    _, position = _number(data, position + 1, end, LONG)
    offset_delta, position = _number(data, position, end, INT)
    if offset_delta != index:
        raise _Unsound(f"its offset delta is {offset_delta}")
    key_size, position = _field(data, position, end, "key")
    _, position = _field(data, position, end, "value")
    headers, position = _number(data, position, end, INT)
    if not 0 <= headers <= end - position:
        raise _Unsound(f"it claims {headers} headers where {end - position} bytes remain")
    for _ in range(headers):
        name_size, position = _field(data, position, end, "header's name")
        if name_size < 0:
            raise _Unsound("a header has no name")
        _, position = _field(data, position, end, "header's value")
    if position != end:
        raise _Unsound(f"{end - position} bytes follow its headers")
    return key_size >= 0, end


def _first_unsound(buffer: Buffer, start: int, count: int, /) -> tuple[int, int] | None:
    """Which record is unsound, and where it lies; `count` where bytes follow the last one; None if all is well."""
    data = buffer if isinstance(buffer, bytes) else memoryview(buffer)
    total, position = len(data), start
    for index in range(count):
        try:
            _, position = _record(data, position, total, index)
        except _Unsound:
            return index, position
    return None if position == total else (max(count, 0), position)


def _without_key(buffer: Buffer, start: int, count: int, most: int, /) -> tuple[int, list[int]]:
    """How many of the (sound) records have no key, and the indexes of the first ones."""
    data = buffer if isinstance(buffer, bytes) else memoryview(buffer)
    total, position = len(data), start
    found, indexes = 0, []
    with suppress(_Unsound):
        for index in range(count):
            has_key, position = _record(data, position, total, index)
            if not has_key:
                found += 1
                if found <= most:
                    indexes.append(index)
    return found, indexes


def _common_beginning(buffer: Buffer, start: int, count: int, size: int, of_keys: bool, /) -> tuple[int, int] | None:
    """The index of the first of the (sound) records that has a value, and where that lies, if all values there are
    begin with the same `size` bytes; or the same of keys. None also where that is hard to tell, which of keys it is
    here. It reads no more than it needs."""
    if of_keys:
        return None
    data = buffer if isinstance(buffer, bytes) else bytes(buffer)
    position, beginning, first = start, b"", None
    for index in range(count):
        # Its length: nearly always a number of two or three bytes.
        byte, second = data[position], data[position + 1]
        if byte < 0x80:
            position += 1
            end = position + (byte >> 1)
        elif second < 0x80:
            position += 2
            end = position + ((byte & 0x7F | second << 7) >> 1)
        else:
            third = data[position + 2]
            if third >= 0x80:
                return None
            position += 3
            end = position + ((byte & 0x7F | (second & 0x7F) << 7 | third << 14) >> 1)
        # Past its attributes, its time, its offset.
        position += 1
        while data[position] >= 0x80:
            position += 1
        position += 1
        while data[position] >= 0x80:
            position += 1
        key = data[position + 1]
        if key >= 0x80:
            return None
        position += 2 if key == NULL else 2 + (key >> 1)
        value = data[position]
        if value != NULL:
            if value < 2 * size:
                return None
            while data[position] >= 0x80:
                position += 1
            begins = data[position + 1 : position + 1 + size]
            if first is None:
                first, beginning = (index, position + 1), begins
            elif begins != beginning:
                return None
        position = end
    return first


def _values(buffer: Buffer, start: int, count: int, /) -> list[tuple[int, int, int]] | None:
    """Index, begin and end of the values that there are; None if the records are not sound."""
    data, position = buffer if isinstance(buffer, bytes) else memoryview(buffer), start
    found = []
    try:
        for index in range(count):
            _, end = _record(data, position, len(data), index)
            # Past its length, attributes, time and offset.
            _, at = _number(data, position, end, INT)
            _, at = _number(data, at + 1, end, LONG)
            _, at = _number(data, at, end, INT)
            _, at = _field(data, at, end, "key")
            size, behind = _field(data, at, end, "value")
            if size >= 0:
                found.append((index, behind - size, behind))
            position = end
    except _Unsound:
        return None
    return found


first_unsound, without_key, common_beginning, values = _first_unsound, _without_key, _common_beginning, _values
is_compiled = False
with suppress(ImportError):
    from engine.records import _walk

    # Another version is an older one that was left behind: it may judge otherwise.
    if _walk.VERSION == VERSION:
        first_unsound, without_key = _walk.first_unsound, _walk.without_key
        common_beginning, values = _walk.common_beginning, _walk.values
        is_compiled = True


def refuse(buffer: Buffer, unsound: tuple[int, int], count: int) -> NoReturn:
    """Say what is wrong where `first_unsound` found it."""
    index, position = unsound
    data = memoryview(buffer)
    reason = f"{len(data) - position} bytes follow the last of {count} records"
    if index < count:
        try:
            _record(data, position, len(data), index)
        except _Unsound as error:
            reason = str(error)
        raise InvalidRecord(f"record {index} of {count} is malformed: {reason}", record_errors=((index, reason),))
    raise InvalidRecord(reason)
