"""Payloads shown to people: right where they are right, and never more than a broker can bear."""

import json
from typing import Any

import pytest

from coordinators.schemas.formats import by_name
from coordinators.schemas.formats.format import InvalidPayload
from coordinators.schemas.formats.showing import shown_payload
from tests.coordinators.schemas.formats.avro.orders import written

ANY = (
    'syntax = "proto3"; import "google/protobuf/any.proto"; message M { google.protobuf.Any a = 1; repeated M m = 2; }'
)


def shown(kind: str, schema: Any, payload: bytes) -> Any:
    text = schema if kind == "PROTOBUF" else json.dumps(schema)
    return json.loads(shown_payload(by_name(kind).parse(text, ()), payload))


def array_of(payload: bytes, count: int) -> bytes:
    return written("long", count) + payload * count + b"\0"


def packed(levels: int) -> bytes:
    """A message in an `Any` in a message, and so on."""
    message = b""
    for _ in range(levels):
        packed = b"\x0a\x03x/M\x12" + _length(message) + message
        message = b"\x0a" + _length(packed) + packed
    return b"\0" + message


def _length(data: bytes) -> bytes:
    size, length = len(data), b""
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return length + bytes([size])


def test_what_names_its_fields_at_length_is_not_written_out() -> None:
    item = {"type": "record", "name": "R", "fields": [{"name": "x" * 100_000, "type": "int"}]}
    with pytest.raises(InvalidPayload, match="bytes as JSON"):
        shown("AVRO", {"type": "array", "items": item}, array_of(b"\0", 50_000))


def test_values_that_take_no_bytes_are_counted() -> None:
    fields = [{"name": "x", "type": "int"}, *({"name": f"n{number}", "type": "null"} for number in range(2_000))]
    item = {"type": "record", "name": "R", "fields": fields}
    with pytest.raises(InvalidPayload, match="take no bytes"):
        shown("AVRO", {"type": "array", "items": item}, array_of(b"\0", 100_000))


def test_messages_packed_into_each_other_without_end_are_refused() -> None:
    assert shown("PROTOBUF", ANY, packed(2)) == {"a": {"@type": "x/M", "a": {"@type": "x/M"}}}
    with pytest.raises(InvalidPayload, match="nested too deeply"):
        shown("PROTOBUF", ANY, packed(2_000))


def test_messages_of_which_all_fields_are_shown_are_counted() -> None:
    fields = " ".join(f"int32 f{number} = {number};" for number in range(2, 2_000))
    parsed = by_name("PROTOBUF").parse(f'syntax = "proto3"; message M {{ repeated M m = 1; {fields} }}', ())
    assert len(parsed.to_exact_json(b"\0\x0a\0\x0a\0")["m"]) == 2
    with pytest.raises(InvalidPayload, match="fields"):
        parsed.to_exact_json(b"\0" + b"\x0a\0" * 50_000)


def test_a_payload_beyond_the_bound_is_not_read() -> None:
    with pytest.raises(InvalidPayload, match="at most"):
        shown("JSON", {}, b'"' + b"x" * (1 << 20) + b'"')
