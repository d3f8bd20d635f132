"""The extension headers of records: whether a batch may carry any, what they ask for, and what is refused.

Decided here, where the headers' table leaves room:

- A number is one to 19 decimal digits, nothing else. `tide-ttl` and `tide-expires-at` beyond `FOREVER_MS` count as
  that, so that "never" can be written as the greatest number of 64 bits, and sums of two times still fit.
- `tide-ttl` together with `tide-expires-at` is refused, like `tide-delay` with `tide-deliver-at`: no guessing which
  was meant.
- A record with `tide-cancel` carries no other `tide-` header: it is not stored, so nothing else could be obeyed.
- Only names that begin with `tide-` are ours; `__tide-delay` and `x-tide-delay` are plain data, and so is
  `tide-priority`, whatever its value, where `HeaderRules.priority` is off.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import stringzilla
from attrs import frozen

from engine.errors import InvalidRecord
from engine.files.files import Buffer
from engine.records.walk import refuse
from engine.stage.numbers import read_long

PREFIX = b"tide-"
PRIORITIES = ("critical", "high", "normal", "low", "background")
SCHEDULE_ID_BYTES_MAX = 249
DIGITS_MAX = 19
# Some 146 million years.
FOREVER_MS = 2**62
# A batch may have 100,000 bad records; the answer names the first of them.
NAMED_ERRORS_MAX = 100
SHOWN_BYTES_MAX = 60

# The kinds of fault by which refusals are counted.
UNKNOWN_HEADER, MALFORMED_VALUE, GIVEN_TWICE, EXCLUDED = "unknown header", "malformed value", "given twice", "excluded"
NO_KEY, TOO_FAR, COMPACTED_TOPIC = "no key", "too far", "compacted topic"
FAULTS = (UNKNOWN_HEADER, MALFORMED_VALUE, GIVEN_TWICE, EXCLUDED, NO_KEY, TOO_FAR, COMPACTED_TOPIC)


class Directive(NamedTuple):
    """What a record's extension headers ask for; None where nothing is asked."""

    delay_ms: int | None
    deliver_at_ms: int | None
    schedule_id: bytes | None
    cancel: bytes | None
    priority: int | None
    ttl_ms: int | None
    expires_at_ms: int | None


NO_DIRECTIVE = Directive(None, None, None, None, None, None, None)


class OpenedRecord(NamedTuple):
    """One record of an uncompressed section: its span, length prefix included, and what it asks for."""

    start: int
    end: int
    timestamp_delta: int
    directive: Directive


@frozen
class HeaderRules:
    """What a topic's config says of the headers.

    Without `priority`, `tide-priority` is plain data; with it, a topic that is `compacted` refuses it.
    """

    delay_max_ms: int
    priority: bool
    compacted: bool = False


Asked = list[tuple[bytes, bytes | None]]
Judge = Callable[[int, Asked, bool], Directive]


class _Refusal(Exception):
    """Why one record is refused: the kind of fault, by which refusals are counted, and what is wrong."""

    def __init__(self, fault: str, text: str) -> None:
        super().__init__(text)
        self.fault = fault


class _Malformed(Exception):
    """A record that is none."""


def sniff(data: Buffer) -> bool:
    """Whether these (uncompressed) bytes can hold an extension header at all."""
    return bool(stringzilla.find(data, PREFIX) >= 0)


def open_records(section: Buffer, count: int, rules: HeaderRules, now_ms: int) -> list[OpenedRecord]:
    """Every record of a section that a client sent; `InvalidRecord` names each that is refused, and why."""
    for opened in open_in_slices(section, count, rules, now_ms, max(count, 1)):
        if opened is not None:
            return opened
    raise AssertionError("the last thing that is yielded are the records")


def open_in_slices(
    section: Buffer, count: int, rules: HeaderRules, now_ms: int, slice_records: int
) -> Iterator[list[OpenedRecord] | None]:
    """The same with a pause, None, after so many records; what comes last are all of them."""
    errors: list[tuple[int, str]] = []
    refused, fault = 0, ""
    latest_ms = now_ms + rules.delay_max_ms

    def judge(index: int, asked: Asked, has_key: bool) -> Directive:
        nonlocal refused, fault
        try:
            return _checked(asked, has_key, rules, latest_ms)
        except _Refusal as refusal:
            refused += 1
            fault = fault or refusal.fault
            if refused <= NAMED_ERRORS_MAX:
                errors.append((index, str(refusal)))
            return NO_DIRECTIVE

    # Bytes are indexed faster than a memoryview, which pays for the copy.
    data = section if isinstance(section, bytes) else bytes(section)
    opened: list[OpenedRecord] = []
    for start in range(0, count, slice_records):
        _walk_on(data, range(start, min(start + slice_records, count)), count, judge, opened)
        if len(opened) < count:
            yield None
    _check_end(data, count, opened)
    if errors:
        raise _refused(errors, refused, count, fault)
    yield opened


def replay_records(section: Buffer, count: int, rules: HeaderRules) -> list[OpenedRecord]:
    """The same for what was checked when it was stored: no value is refused, since rules may have changed since.

    A header that cannot be obeyed (any more) counts as not given.
    """
    return _opened(section, count, lambda _index, asked, _has_key: _lenient(asked, rules))


def _opened(section: Buffer, count: int, judge: Judge) -> list[OpenedRecord]:
    data = section if isinstance(section, bytes) else bytes(section)
    opened: list[OpenedRecord] = []
    _walk_on(data, range(count), count, judge, opened)
    _check_end(data, count, opened)
    return opened


def _walk_on(data: bytes, indexes: range, count: int, judge: Judge, opened: list[OpenedRecord]) -> None:
    try:
        _walk(data, indexes, judge, opened)
    except (IndexError, _Malformed):
        raise _malformed(data, count, opened) from None


def _check_end(data: bytes, count: int, opened: list[OpenedRecord]) -> None:
    if (opened[-1].end if opened else 0) != len(data):
        raise _malformed(data, count, opened)


def _walk(data: bytes, indexes: range, judge: Judge, opened: list[OpenedRecord]) -> None:
    """Appends the records of these indexes to `opened`, which holds those before them; IndexError or `_Malformed` at
    one that is none.

    This runs for every record of every batch that is opened, so it is one loop that reads numbers in place. They are
    zigzag: an odd one is negative, and 1 is -1, a null. The position only ever grows, hence a field that reaches past
    its record is found out at the record's end.
    """
    total = len(data)
    position = opened[-1].end if opened else 0
    for index in indexes:
        start = position
        size = data[position]
        position += 1
        if size > 0x7F:
            size, position = read_long(data, position)
        end = position + (size >> 1)
        if size & 1 or not size or end > total:
            raise _Malformed
        timestamp_delta = data[position + 1]
        position += 2
        if timestamp_delta > 0x7F:
            timestamp_delta, position = read_long(data, position)
            if timestamp_delta >> 64:
                raise _Malformed
        position += 1
        if data[position - 1] > 0x7F:
            position = read_long(data, position)[1]
        key_size = data[position]
        position += 1
        if key_size > 0x7F:
            key_size, position = read_long(data, position)
        position += key_size >> 1
        value_size = data[position]
        position += 1
        if value_size > 0x7F:
            value_size, position = read_long(data, position)
        position += value_size >> 1
        header_count = data[position]
        position += 1
        if header_count:
            if header_count > 0x7F:
                header_count, position = read_long(data, position)
            if header_count & 1 or header_count >> 1 > end - position:
                raise _Malformed
            asked, position = _headers(data, position, header_count >> 1)
        else:
            asked = None
        if position != end or (key_size & 1 and key_size != 1) or (value_size & 1 and value_size != 1):
            raise _Malformed
        directive = judge(index, asked, key_size != 1) if asked else NO_DIRECTIVE
        opened.append(OpenedRecord(start, end, (timestamp_delta >> 1) ^ -(timestamp_delta & 1), directive))


def _headers(data: bytes, position: int, count: int) -> tuple[Asked | None, int]:
    """The extension headers among a record's headers, and where these end."""
    asked: Asked | None = None
    for _ in range(count):
        name_size = data[position]
        position += 1
        if name_size > 0x7F:
            name_size, position = read_long(data, position)
        if name_size & 1:
            raise _Malformed
        name_start = position
        position += name_size >> 1
        value_size = data[position]
        position += 1
        if value_size > 0x7F:
            value_size, position = read_long(data, position)
        value_start = position
        position += value_size >> 1
        if value_size & 1 and value_size != 1:
            raise _Malformed
        # A name of five bytes is ten as a zigzag number.
        if name_size > 9 and data.startswith(PREFIX, name_start):
            if asked is None:
                asked = []
            value = None if value_size & 1 else data[value_start:position]
            asked.append((data[name_start : name_start + (name_size >> 1)], value))
    return asked, position


def _malformed(data: bytes, count: int, opened: Sequence[OpenedRecord]) -> InvalidRecord:
    """What is wrong behind so many good records; the reader that is not in a hurry says it."""
    position = opened[-1].end if opened else 0
    try:
        refuse(data, (len(opened), position), count)
    except InvalidRecord as error:
        return error


def _refused(errors: Sequence[tuple[int, str]], refused: int, count: int, fault: str) -> InvalidRecord:
    index, reason = errors[0]
    asks = "record asks" if count == 1 else "records ask" if refused > 1 else "records asks"
    return InvalidRecord(
        f"{refused} of {count} {asks} for what cannot be done: record {index}: {reason}",
        record_errors=tuple(errors),
        header_fault=fault,
    )


def _shown(content: bytes) -> str:
    text = content[:SHOWN_BYTES_MAX].decode(errors="backslashreplace")
    return repr(text) + ("..." if len(content) > SHOWN_BYTES_MAX else "")


def _number(name: str, value: bytes) -> int:
    if not value.isdigit() or len(value) > DIGITS_MAX:
        wanted = f"milliseconds in decimal digits, at most {DIGITS_MAX} of them"
        raise _Refusal(MALFORMED_VALUE, f"{name} must be {wanted}, not {_shown(value)}")
    return int(value)


def _duration(name: str, value: bytes) -> int:
    """A number that ends up in sums of times."""
    return min(_number(name, value), FOREVER_MS)


def _identity(name: str, value: bytes) -> bytes:
    if not 0 < len(value) <= SCHEDULE_ID_BYTES_MAX:
        wanted = f"1 to {SCHEDULE_ID_BYTES_MAX} bytes long"
        raise _Refusal(MALFORMED_VALUE, f"{name} must be {wanted}, not {len(value)}: {_shown(value)}")
    try:
        value.decode()
    except UnicodeDecodeError:
        raise _Refusal(MALFORMED_VALUE, f"{name} must be UTF-8 text, not {_shown(value)}") from None
    return value


_LANES = {name.encode(): lane for lane, name in enumerate(PRIORITIES)} | {b"%d" % lane: lane for lane in range(5)}


def _priority(name: str, value: bytes) -> int:
    lane = _LANES.get(value)
    if lane is None:
        wanted = f"one of {', '.join(PRIORITIES)}, or 0 to 4"
        raise _Refusal(MALFORMED_VALUE, f"{name} must be {wanted}, not {_shown(value)}")
    return lane


_PRIORITY_SLOT = Directive._fields.index("priority")
_PARSERS: tuple[tuple[str, Callable[[str, bytes], int | bytes]], ...] = (
    ("tide-delay", _number),
    ("tide-deliver-at", _number),
    ("tide-schedule-id", _identity),
    ("tide-cancel", _identity),
    ("tide-priority", _priority),
    ("tide-ttl", _duration),
    ("tide-expires-at", _duration),
)
# By name: the header as text, the place of its value in a `Directive`, and how the value is read.
NAMES = tuple(name for name, _ in _PARSERS)
"""All extension headers."""

_KNOWN = {name.encode(): (name, slot, parse) for slot, (name, parse) in enumerate(_PARSERS)}


def _checked(asked: Asked, has_key: bool, rules: HeaderRules, latest_ms: int) -> Directive:
    """What a client's record asks for, or `_Refusal`."""
    values: list[int | bytes | None] = [None] * 7
    for name, value in asked:
        known = _KNOWN.get(name)
        if known is None:
            text = f"{_shown(name)} is no header that this broker knows; names in tide- are reserved"
            raise _Refusal(UNKNOWN_HEADER, text)
        text, slot, parse = known
        if slot == _PRIORITY_SLOT and not rules.priority:
            continue
        if values[slot] is not None:
            raise _Refusal(GIVEN_TWICE, f"{text} is given twice, with {_shown(value or b'')} the second time")
        if value is None:
            raise _Refusal(MALFORMED_VALUE, f"{text} has a null value")
        values[slot] = parse(text, value)
    directive = Directive._make(values)
    if directive.priority is not None and rules.compacted:
        text = "tide-priority cannot be obeyed in a compacted topic, whose cleanup.policy has compact"
        raise _Refusal(COMPACTED_TOPIC, text)
    _check_delay(directive, rules, latest_ms)
    if directive.ttl_ms is not None and directive.expires_at_ms is not None:
        raise _Refusal(EXCLUDED, "tide-ttl and tide-expires-at exclude each other, and both are given")
    if directive.schedule_id is not None and not has_key:
        raise _Refusal(NO_KEY, "tide-schedule-id needs a record with a key, and this one has none")
    if directive.cancel is not None:
        _check_cancel(directive, has_key)
    return directive


def _check_delay(directive: Directive, rules: HeaderRules, latest_ms: int) -> None:
    delay_ms, deliver_at_ms = directive.delay_ms, directive.deliver_at_ms
    if delay_ms is not None:
        if deliver_at_ms is not None:
            raise _Refusal(EXCLUDED, "tide-delay and tide-deliver-at exclude each other, and both are given")
        if delay_ms > rules.delay_max_ms:
            raise _Refusal(TOO_FAR, f"tide-delay of {delay_ms} is beyond delay.max.ms, which is {rules.delay_max_ms}")
    elif deliver_at_ms is not None and deliver_at_ms > latest_ms:
        raise _Refusal(
            TOO_FAR,
            f"tide-deliver-at of {deliver_at_ms} is further away than delay.max.ms, {rules.delay_max_ms}, "
            f"which now ends at {latest_ms}",
        )


def _check_cancel(directive: Directive, has_key: bool) -> None:
    if not has_key:
        raise _Refusal(NO_KEY, "tide-cancel needs a record with a key, and this one has none")
    if any(value is not None for value in directive._replace(cancel=None)):
        text = "tide-cancel goes with no other tide- header: the record that carries it is not stored"
        raise _Refusal(EXCLUDED, text)


def _lenient(asked: Asked, rules: HeaderRules) -> Directive:
    """What a stored record asks for. Of a header that is there twice the first counts."""
    values: list[int | bytes | None] = [None] * 7
    for name, value in asked:
        known = _KNOWN.get(name)
        if known is None or value is None:
            continue
        text, slot, parse = known
        if values[slot] is not None or (slot == _PRIORITY_SLOT and not rules.priority):
            continue
        with suppress(_Refusal):
            values[slot] = parse(text, value)
    return Directive._make(values)
