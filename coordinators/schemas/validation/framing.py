"""How a record says which schema it was written with, by the convention of Confluent's serialisers.

In front of the payload: byte 0 and an id of four bytes, or byte 1 and a guid of sixteen. Or in a header of the record,
`__key_schema_id` or `__value_schema_id`: the same, with nothing in front of the payload. A header comes first. Where a
schema has several messages (Protobuf), numbers follow that say which is meant: in the header if it is one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from attrs import define, field
from stringzilla import find

from coordinators.schemas.validation.prefixes import only_framing
from coordinators.schemas.validation.rules import KEY, VALUE, SchemaRules
from coordinators.schemas.validation.spans import RecordParts, headers_of, record_spans
from engine.records.walk import values

ID_BYTES, GUID_BYTES = 5, 17
HEADERS = {KEY: b"__key_schema_id", VALUE: b"__value_schema_id"}
HEADERS_END = b"_schema_id"
"""What both have in common: a batch without it has neither."""


class Framed(NamedTuple):
    """A key or a value, and the schema that it names."""

    record: int
    """Its index in the batch."""
    part: str
    framing: bytes
    """Byte 0 and an id, or byte 1 and a guid."""
    start: int
    end: int
    """Where its payload lies."""
    numbers: bytes = b""
    """What followed the framing in a header: it belongs in front of the payload."""


@define(eq=False)
class Survey:
    """What the records of a batch say of their schemas."""

    data: bytes
    framed: list[Framed] = field(factory=list)
    """Every key and value that has a payload to be looked into; where none is, the first of each framing."""
    unframed: list[tuple[int, str]] = field(factory=list)
    """Records, and the part of them, that say nothing."""
    wanted: dict[tuple[str, bytes], None] = field(factory=dict)
    """The framings that there are, of keys and of values."""


def survey(data: bytes, count: int, rules: SchemaRules) -> Survey:
    """Look over sound, uncompressed records."""
    found = Survey(data)
    # What a schema calls a record can depend on the record.
    parts = [(part.part, part.is_full or part.needs_name) for part in (rules.key, rules.value) if part is not None]
    if find(data, HEADERS_END) >= 0:
        for index, span in enumerate(record_spans(data, count)):
            headers = dict(headers_of(data, span))
            for part, is_full in parts:
                _look(found, index, part, span, headers.get(HEADERS[part]), is_full=is_full)
    elif not _are_alike(found, count, parts):
        _look_at_prefixes(found, count, parts)
    return found


def _are_alike(found: Survey, count: int, parts: Sequence[tuple[str, bool]]) -> bool:
    """Take the short way, if every part has but one framing: as it is nearly always."""
    if (KEY, True) in parts:
        return False
    alike = [(*part, *only_framing(found.data, count, of_keys=part[0] == KEY)) for part in parts]
    if not all(framing for _, _, framing, _ in alike):
        return False
    for part, is_full, framing, first in alike:
        found.wanted[part, framing] = None
        if is_full:
            places = values(found.data, 0, count) or ()
            found.framed += [Framed(index, part, framing, start + ID_BYTES, end) for index, start, end in places]
        else:
            found.framed.append(Framed(first, part, framing, 0, 0))
    return True


def _look_at_prefixes(found: Survey, count: int, parts: Sequence[tuple[str, bool]]) -> None:
    """The same where no record has such a header. Most records name what the one before them named."""
    data, wanted = found.data, found.wanted
    for index, span in enumerate(record_spans(data, count)):
        for part, is_full in parts:
            start, end = (span[0], span[1]) if part is KEY else (span[2], span[3])
            if end < 0:
                continue
            if not is_full and (part, data[start : start + ID_BYTES]) in wanted and end - start >= ID_BYTES:
                continue
            _look(found, index, part, span, None, is_full=is_full)


def _look(found: Survey, index: int, part: str, span: RecordParts, header: bytes | None, *, is_full: bool) -> None:
    start, end = (span.key_start, span.key_end) if part == KEY else (span.value_start, span.value_end)
    if end < 0:
        # Nothing is there to be described: a deletion, or a record without a key.
        return
    if header is None:
        framing = found.data[start : start + _framing_size(found.data[start : min(end, start + 1)])]
        framed = Framed(index, part, framing, start + len(framing), end)
    else:
        framing = header[: _framing_size(header)]
        framed = Framed(index, part, framing, start, end, header[len(framing) :])
    if not framing or framed.start > end or len(framing) != _framing_size(framing):
        found.unframed.append((index, part))
    elif is_full or (part, framing) not in found.wanted:
        found.wanted[part, framing] = None
        found.framed.append(framed)


def _framing_size(beginning: bytes) -> int:
    if not beginning or beginning[0] > 1:
        return 0
    return GUID_BYTES if beginning[0] else ID_BYTES


def framing_of(data: bytes) -> bytes:
    """What names a schema in front of a payload, or in a header; nothing where nothing does."""
    size = _framing_size(data)
    return data[:size] if len(data) >= size else b""


def parted(headers: Iterable[tuple[str, bytes | None]], part: str, data: bytes) -> tuple[bytes, bytes]:
    """Of a record that was read: what names the schema of its key or value, and the payload that goes by it. As
    deserialisers do, it looks in front of the payload if there is nothing in the header."""
    header = dict(headers).get(HEADERS[part].decode()) or b""
    if framing := framing_of(header):
        return framing, header[len(framing) :] + data
    framing = framing_of(data)
    return framing, data[len(framing) :]


def schema_named(framing: bytes) -> int | str:
    """The id that a framing names, or the guid."""
    if framing[0] == 0:
        return int.from_bytes(framing[1:], "big", signed=True)
    digits = framing[1:].hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def plain_values(data: bytes, count: int) -> Iterator[tuple[int, int, int]]:
    """The values of records that name no schema: index, start and end."""
    for index, span in enumerate(record_spans(data, count)):
        if span.value_end >= 0:
            yield index, span.value_start, span.value_end
