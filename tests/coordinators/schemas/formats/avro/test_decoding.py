"""Payloads of Avro shown as JSON."""

import json
from io import BytesIO
from typing import Any

import fastavro
import pytest

from coordinators.schemas.formats.avro.schema import FORMAT


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


def test_a_payload_is_shown_as_json() -> None:
    assert _parsed(ORDER).to_json(_written(ORDER, AN_ORDER)) == AN_ORDER


@pytest.mark.parametrize(
    ("schema", "plain", "value", "shown"),
    [
        ({"type": "int", "logicalType": "date"}, "int", 365, "1971-01-01"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "long", 1500, "1970-01-01T00:00:01.500000+00:00"),
        ({"type": "long", "logicalType": "time-micros"}, "long", 1_000_000, "00:00:01"),
        ({"type": "bytes", "logicalType": "decimal", "scale": 2, "precision": 5}, "bytes", b"\x04\xd2", "12.34"),
        ("bytes", "bytes", b"\xff\x00", "ÿ\x00"),
        ("double", "double", float("inf"), "inf"),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "int"}, {"a": 1}, {"a": 1}),
    ],
)
def test_logical_types_are_shown_as_people_write_them(schema: Any, plain: Any, value: Any, shown: Any) -> None:
    assert _parsed(schema).to_json(_written(plain, value)) == shown
    json.dumps(shown)
