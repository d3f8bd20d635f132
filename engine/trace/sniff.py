"""Finds the records of a batch that are to be traced, opening as few as it can.

One SIMD search tells whether a section holds the word at all. Where it does, a compiled expression looks for headers
with the sampled flag, so that records of traces that nobody records cost next to nothing; then record lengths are
hopped over up to the match, and only that record is opened, which also tells a header from a value that looks like one.
"""

import re
from collections.abc import Iterator, Sequence

import stringzilla
from attrs import frozen

from engine.errors import InvalidRecord
from engine.files import Buffer
from engine.records import RecordSpan, read_varint, walk_records
from engine.trace.context import TRACEPARENT, TRACESTATE, TraceContext, parse_traceparent

# A header's name is preceded by its length, 11 as a zigzag varint, and followed by that of its value, 55 or more.
_SAMPLED_HEADER = re.compile(
    rb"\x16traceparent(?:[\x6e-\x7f]|[\x80-\xff][\x01-\x7f])"
    rb"(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f][13579bdf]"
)


@frozen
class TracedRecord:
    """A record of a batch: how far it is from the batch's base offset, its key, its context if it has one."""

    offset_delta: int
    key: bytes | memoryview | None
    context: TraceContext | None


def mark_in(section: Buffer) -> int:
    """Where the section holds the header's name, or something like it; -1 if nowhere."""
    return int(stringzilla.find(section, TRACEPARENT))


def with_context(section: Buffer, mark: int, at_most: int) -> list[TracedRecord]:
    """The first `at_most` records whose header asks for a trace; `mark` is what `mark_in` said."""
    found: list[TracedRecord] = []
    view = memoryview(section)
    position = 0
    try:
        for match in _SAMPLED_HEADER.finditer(view, max(mark - 1, 0)):
            if len(found) >= at_most:
                break
            if match.start() < position:
                continue
            start, position = _record_around(view, position, match.start())
            span = _opened(view[start:position])
            context = _context(span)
            if context is not None and context.sampled:
                found.append(TracedRecord(span.offset_delta, span.key, context))
    except InvalidRecord:
        pass  # the batch's framing holds, its records do not: whoever reads them will say so
    return found


def without_context(section: Buffer, numbers: Sequence[int]) -> Iterator[TracedRecord]:
    """The records of these numbers, in rising order, that bring no context of their own."""
    view = memoryview(section)
    position = passed = 0
    try:
        for number in numbers:
            while passed <= number:
                start, position = _next_record(view, position)
                passed += 1
            span = _opened(view[start:position])
            if _context(span) is None:
                yield TracedRecord(span.offset_delta, span.key, None)
    except InvalidRecord:
        return


def _context(span: RecordSpan) -> TraceContext | None:
    value = state = None
    for name, content in span.headers:
        if name == TRACEPARENT:
            value = content
        elif name == TRACESTATE:
            state = content
    return parse_traceparent(value, state)


def _record_around(view: memoryview, position: int, place: int) -> tuple[int, int]:
    """Where the record begins and ends that holds the byte at `place`, counting from a record's start."""
    while True:
        start, position = _next_record(view, position)
        if position > place:
            return start, position


def _next_record(view: memoryview, position: int) -> tuple[int, int]:
    """Where the record at `position` begins and ends."""
    end = len(view)
    # Nearly all lengths take one or two bytes; the general reader takes four times as long.
    if position + 1 < end and view[position + 1] < 0x80 <= view[position]:
        size, body = (view[position] & 0x7F | view[position + 1] << 7), position + 2
        size = (size >> 1) ^ -(size & 1)
    elif position < end and view[position] < 0x80:
        size, body = (view[position] >> 1) ^ -(view[position] & 1), position + 1
    else:
        size, body = read_varint(view, position, end)
    if not 0 < size <= end - body:
        raise InvalidRecord(f"a record claims {size} bytes where {end - body} remain")
    return position, body + size


def _opened(record: memoryview) -> RecordSpan:
    return next(walk_records(record, 1))
