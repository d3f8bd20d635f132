"""Finds the records of a batch that are to be traced, opening as few as it can.

One SIMD search tells whether a section holds the header at all. Where it does, the search goes from one to the next and
looks at nothing but the byte that says "sampled", so that the headers of traces that nobody records cost little, also
where every record has one. For a sampled one, record lengths are hopped over up to it, and only that record is opened,
which also tells a header from a value that looks like one.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import stringzilla

from engine.errors import InvalidRecord
from engine.files.files import Buffer
from engine.records.layout import read_varint
from engine.trace.context import TRACEPARENT, TRACESTATE, TraceContext, parse_traceparent

# A header's name stands behind its length, 11 as a zigzag varint.
_MARK = b"\x16" + TRACEPARENT
# From there to the last digit of the flags, behind a length of one byte; a value with more to say has two.
_FLAG = len(_MARK) + 1 + 54
_SAMPLED_DIGITS = frozenset(b"13579bdf")


class TracedRecord(NamedTuple):
    """A record of a batch: how far it is from the batch's base offset, its key, its context if it has one."""

    offset_delta: int
    key: bytes | memoryview | None
    context: TraceContext | None


def mark_in(section: Buffer) -> int:
    """Where the section holds the header's name, or something like it; -1 if nowhere."""
    found: int = stringzilla.find(section, _MARK)
    return found


def with_context(section: Buffer, mark: int, at_most: int) -> list[TracedRecord]:
    """The first `at_most` records whose header asks for a trace; `mark` is what `mark_in` said."""
    found: list[TracedRecord] = []
    view = memoryview(section)
    position = 0
    try:
        for place in _sampled_places(view, mark):
            if len(found) >= at_most:
                break
            if place < position:
                continue
            start, position = _record_around(view, position, place)
            record = _open(view, start, position)
            if record.context is not None and record.context.sampled:
                found.append(record)
    except InvalidRecord:
        pass  # the batch's framing holds, its records do not: whoever reads them will say so
    return found


def _sampled_places(view: memoryview, mark: int) -> Iterator[int]:
    """Where headers stand that seem to be sampled, from `mark` on."""
    end = len(view)
    while mark >= 0 and mark + _FLAG < end:
        flag = mark + _FLAG + (view[mark + len(_MARK)] >> 7)
        if flag < end and view[flag] in _SAMPLED_DIGITS:
            yield mark
        mark = stringzilla.find(view, _MARK, mark + len(_MARK))


def without_context(section: Buffer, numbers: Sequence[int]) -> Iterator[TracedRecord]:
    """The records of these numbers, in rising order, that bring no context of their own."""
    view = memoryview(section)
    start = position = passed = 0
    try:
        for number in numbers:
            while passed <= number:
                start, position = _record_around(view, position, position)
                passed += 1
            record = _open(view, start, position)
            if record.context is None:
                yield record
    except InvalidRecord:
        return


def _open(view: memoryview, start: int, end: int) -> TracedRecord:
    """One record, without its value; as strict as `walk_records`, and done in half the time."""
    _, position = read_varint(view, start, end)
    _, position = read_varint(view, position + 1, end)
    offset_delta, position = read_varint(view, position, end)
    key, position = _field(view, position, end)
    _, position = _field(view, position, end)
    header_count, position = read_varint(view, position, end)
    value = state = None
    for _ in range(header_count):
        name, position = _field(view, position, end)
        content, position = _field(view, position, end)
        if name == TRACEPARENT:
            value = content
        elif name == TRACESTATE:
            state = content
    if position != end or header_count < 0:
        raise InvalidRecord("a record does not end with its headers")
    return TracedRecord(offset_delta, key, None if value is None else parse_traceparent(value, state))


def _field(view: memoryview, position: int, end: int) -> tuple[bytes | memoryview | None, int]:
    size, position = read_varint(view, position, end)
    if size < 0:
        return None, position
    if size > end - position:
        raise InvalidRecord(f"a field claims {size} bytes where {end - position} remain")
    return view[position : position + size], position + size


def _record_around(view: memoryview, position: int, place: int) -> tuple[int, int]:
    """Where the record begins and ends that holds the byte at `place`, counting from a record's start."""
    start, end = position, len(view)
    try:
        while position <= place:
            start = position
            first = view[position]
            # Nearly all lengths take one or two bytes. This loop is what a traced record costs most: no calls in it.
            if first < 0x80:
                position += 1 + (first >> 1)
            elif (second := view[position + 1]) < 0x80:
                position += 2 + ((first & 0x7F | second << 7) >> 1)
            else:
                size, position = read_varint(view, position, end)
                position += abs(size)
            if first & 1:
                raise InvalidRecord("a record claims less than no bytes")
    except IndexError:
        raise InvalidRecord("a record's length does not end") from None
    if position > end:
        raise InvalidRecord(f"a record ends {position - end} bytes after its batch")
    return start, position
