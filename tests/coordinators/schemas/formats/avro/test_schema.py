"""Payloads held against their Avro schema."""

from io import BytesIO
from typing import Any

import fastavro
import pytest

from coordinators.schemas.formats.format import InvalidPayload
from tests.coordinators.schemas.formats.avro.orders import AN_ORDER, ORDER, parsed, record_of, written


def test_what_was_written_with_the_schema_is_valid() -> None:
    parsed(ORDER).validator()(written(ORDER, AN_ORDER))


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
        parsed(ORDER).validator()(damage(written(ORDER, AN_ORDER)))
    assert str(refusal.value) == reason


def test_bytes_as_deep_as_they_are_long_are_refused() -> None:
    """fastavro alone would overflow the stack, and the broker would be gone."""
    node = parsed(record_of({"name": "next", "type": ["null", "R"]}))
    node.validator()(b"\x02" * 100 + b"\x00")
    with pytest.raises(InvalidPayload, match="nested more than 200 levels deep"):
        node.validator()(b"\x02" * 1_000_000 + b"\x00")


@pytest.mark.parametrize("items", ["null", record_of(), {"type": "fixed", "name": "F", "size": 0}])
def test_items_that_take_no_bytes_are_counted(items: Any) -> None:
    array = parsed({"type": "array", "items": items})
    array.validator()(written({"type": "array", "items": "null"}, [None] * 1000))
    promise = BytesIO()
    fastavro.schemaless_writer(promise, "long", 1 << 60)
    with pytest.raises(InvalidPayload, match="more than 100000 items that take no bytes"):
        array.validator()(promise.getvalue() + b"\x00")


def test_a_moment_beyond_what_calendars_know_is_valid() -> None:
    schema = {"type": "long", "logicalType": "timestamp-millis"}
    payload = written("long", 1 << 60)
    parsed(schema).validator()(payload)
    assert parsed(schema).to_json(payload) == 1 << 60
