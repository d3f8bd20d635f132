"""Payloads held against their Avro schema."""

import json
from io import BytesIO
from typing import Any

import fastavro
import pytest

from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.format import InvalidPayload


def _record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _parsed(schema: Any) -> Any:
    return FORMAT.parse(json.dumps(schema))


def _written(schema: Any, value: Any) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()


ORDER = _record(
    {"name": "id", "type": "long"},
    {"name": "lines", "type": {"type": "array", "items": _record({"name": "price", "type": "double"}, name="Line")}},
    {"name": "note", "type": ["null", "string"]},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
    name="Order",
)
AN_ORDER = {"id": 7, "lines": [{"price": 1.5}, {"price": 2.0}], "note": "quick", "kind": "OLD"}


def test_what_was_written_with_the_schema_is_valid() -> None:
    _parsed(ORDER).validator()(_written(ORDER, AN_ORDER))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda payload: payload[:-1], "kind: 1 bytes are expected and 0 are left"),
        (lambda payload: payload + b"x", "1 bytes are left over"),
        (lambda payload: payload[:-1] + b"\x08", "kind: symbol 4 of Kind, which has 2"),
        (lambda payload: payload[:1] + b"\x04" + payload[2:5], "lines[0].price: 8 bytes are expected and 3 are left"),
        (lambda payload: b"", "id: 1 bytes are expected and 0 are left"),
        (lambda payload: b"\xff" * 11, "id: a number that does not end"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_field_at_fault(damage: Any, reason: str) -> None:
    with pytest.raises(InvalidPayload) as refusal:
        _parsed(ORDER).validator()(damage(_written(ORDER, AN_ORDER)))
    assert str(refusal.value) == reason


def test_bytes_as_deep_as_they_are_long_are_refused() -> None:
    """fastavro alone would overflow the stack, and the broker would be gone."""
    node = _parsed(_record({"name": "next", "type": ["null", "R"]}))
    node.validator()(b"\x02" * 100 + b"\x00")
    with pytest.raises(InvalidPayload, match="nested more than 200 levels deep"):
        node.validator()(b"\x02" * 1_000_000 + b"\x00")


@pytest.mark.parametrize("items", ["null", _record(), {"type": "fixed", "name": "F", "size": 0}])
def test_items_that_take_no_bytes_are_counted(items: Any) -> None:
    array = _parsed({"type": "array", "items": items})
    array.validator()(_written({"type": "array", "items": "null"}, [None] * 1000))
    promise = BytesIO()
    fastavro.schemaless_writer(promise, "long", 1 << 60)
    with pytest.raises(InvalidPayload, match="more than 100000 items that take no bytes"):
        array.validator()(promise.getvalue() + b"\x00")


def test_a_moment_beyond_what_calendars_know_is_valid() -> None:
    schema = {"type": "long", "logicalType": "timestamp-millis"}
    payload = _written("long", 1 << 60)
    _parsed(schema).validator()(payload)
    assert _parsed(schema).to_json(payload) == 1 << 60
