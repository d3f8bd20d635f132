"""Payloads held against their Protobuf schema, and shown as JSON."""

from typing import Any

import pytest

from coordinators.schemas.formats.format import InvalidPayload
from coordinators.schemas.formats.protobuf.schema import FORMAT, read_numbers

ORDER = """
syntax = "proto3";
package shop;
message Order {
  int64 id = 1;
  map<string, int32> counts = 2;
  message Line { string name = 1; message Part { int32 x = 1; } }
  repeated Line lines = 3;
}
message Bill { double sum = 1; }
"""


def _schema() -> Any:
    return FORMAT.parse(ORDER)


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        (b"\x00", "shop.Order"),
        (b"\x02\x00", "shop.Order"),
        (b"\x02\x02", "shop.Bill"),
        (b"\x04\x00\x00", "shop.Order.Line"),
        (b"\x06\x00\x00\x00", "shop.Order.Line.Part"),
    ],
)
def test_numbers_say_which_message_it_is(numbers: bytes, name: str) -> None:
    assert _schema().name_of(numbers) == name


@pytest.mark.parametrize("numbers", [b"", b"\x02", b"\x02\x08", b"\x04\x00\x08", b"\x01", b"\x7e" * 80, b"\xff" * 9])
def test_numbers_that_name_no_message_are_refused(numbers: bytes) -> None:
    with pytest.raises(InvalidPayload):
        _schema().validator()(numbers)


def test_a_payload_that_parses_is_valid_and_shown_by_its_names() -> None:
    payload = b"\x00" + b"\x08\x07" + b"\x12\x05\x0a\x01a\x10\x02" + b"\x1a\x03\x0a\x01x"
    _schema().validator()(payload)
    assert _schema().to_json(payload) == {"id": "7", "counts": {"a": 2}, "lines": [{"name": "x"}]}


@pytest.mark.parametrize("payload", [b"\x08", b"\x0a\x05ab", b"\x1a\x03\x0a\x01\xff", b"\x0f"])
def test_what_does_not_parse_is_refused(payload: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"no message of shop\.Order"):
        _schema().validator()(b"\x00" + payload)


def test_a_payload_nested_without_end_is_refused() -> None:
    schema = FORMAT.parse('syntax = "proto3"; message M { M m = 1; }')
    payload = b""
    for _ in range(200):
        size = len(payload)
        length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        payload = b"\x0a" + length + payload
    with pytest.raises(InvalidPayload):
        schema.validator()(b"\x00" + payload)


def test_a_required_field_that_is_missing_is_named() -> None:
    schema = FORMAT.parse('syntax = "proto2"; message M { required int32 a = 1; }')
    schema.validator()(b"\x00\x08\x01")
    with pytest.raises(InvalidPayload, match="a: is required and missing"):
        schema.validator()(b"\x00")


def test_numbers_end_where_the_message_begins() -> None:
    assert read_numbers(b"\x00\x08\x01") == ([0], 1)
    assert read_numbers(b"\x04\x02\x04\x08\x01") == ([1, 2], 3)
