"""Payloads of Avro shown as JSON."""

import json
from typing import Any

import pytest

from tests.coordinators.schemas.formats.avro.orders import AN_ORDER, ORDER, parsed, written


def test_a_payload_is_shown_as_json() -> None:
    assert parsed(ORDER).to_json(written(ORDER, AN_ORDER)) == AN_ORDER


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
    assert parsed(schema).to_json(written(plain, value)) == shown
    json.dumps(shown)
