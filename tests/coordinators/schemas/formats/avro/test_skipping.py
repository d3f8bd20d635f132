"""Stepping over payloads: whatever it accepts can be read, and what fastavro wrote it accepts."""

import json
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.schemas.formats.avro.decoding import decoder
from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.avro.skipping import skipper
from coordinators.schemas.formats.format import InvalidPayload


def record(name: str, *types: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{n}", "type": each} for n, each in enumerate(types)]}


EVERYTHING = record(
    "All",
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]},
    {"type": "fixed", "name": "F", "size": 3},
    {"type": "array", "items": record("Line", "string", ["null", "int", "string"], "E")},
    {"type": "map", "values": ["null", "Line"]},
    record("Nothing", "null"),
    {"type": "array", "items": "double"},
)
TYPE = FORMAT.parse(json.dumps(EVERYTHING)).type
IS_SOUND, DECODE = skipper(TYPE), decoder(TYPE)

lines = st.fixed_dictionaries(
    {"f0": st.text(), "f1": st.none() | st.integers(-(2**31), 2**31 - 1) | st.text(), "f2": st.sampled_from("ABC")}
)
values = st.fixed_dictionaries(
    {
        "f0": st.none(),
        "f1": st.booleans(),
        "f2": st.integers(-(2**31), 2**31 - 1),
        "f3": st.integers(-(2**63), 2**63 - 1),
        "f4": st.floats(width=32),
        "f5": st.floats(),
        "f6": st.binary(max_size=200),
        "f7": st.text(max_size=200),
        "f8": st.sampled_from("ABC"),
        "f9": st.binary(min_size=3, max_size=3),
        "f10": st.lists(lines, max_size=4),
        "f11": st.dictionaries(st.text(), st.none() | lines, max_size=3),
        "f12": st.just({"f0": None}),
        "f13": st.lists(st.floats(), max_size=4),
    }
)


def written(value: Any) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(EVERYTHING), value)
    return stream.getvalue()


def can_be_read(payload: bytes) -> bool:
    try:
        DECODE(payload)
    except InvalidPayload:
        return False
    return True


@given(values)
@settings(max_examples=60, deadline=None)
def test_what_was_written_is_accepted(value: Any) -> None:
    assert IS_SOUND(written(value))


@given(values, st.data())
@settings(max_examples=150, deadline=None)
def test_damage_is_judged_as_by_reading(value: Any, data: st.DataObject) -> None:
    payload = bytearray(written(value))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(payload) - 1))
        payload[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        payload = payload or bytearray(b"\0")
    assert IS_SOUND(bytes(payload)) == can_be_read(bytes(payload))


@pytest.mark.parametrize(
    ("schema", "payload", "is_sound"),
    [
        ("int", b"\xff\xff\xff\xff\x0f", True),
        ("int", b"\x80\x80\x80\x80\x10", False),
        ("long", b"\xff" * 9 + b"\x01", True),
        ("long", b"\xff" * 10 + b"\x01", False),
        ("string", b"\x02\xff", False),
        ("string", b"\x01", False),
        ("string", b"\x04a", False),
        ("double", b"1234567", False),
        ({"type": "array", "items": "int"}, b"\x03\x04\x02\x02\x00", True),
        ({"type": "array", "items": "double"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00", False),
        (["null", "int"], b"\x04", False),
        (["null", "int"], b"\x00", True),
        ("null", b"", True),
    ],
)
def test_edges(schema: Any, payload: bytes, is_sound: bool) -> None:
    assert skipper(FORMAT.parse(json.dumps(schema)).type)(payload) is is_sound


@pytest.mark.parametrize("leaf", ["null", "double", "string"])
def test_types_that_hold_others_twice_over_do_not_take_for_ever(leaf: str) -> None:
    schema: Any = record("N0", leaf, leaf)
    for level in range(1, 40):
        schema = record(f"N{level}", schema, f"N{level - 1}")
    check = FORMAT.parse(json.dumps(schema)).validator()
    if leaf == "null":
        check(b"")
    with pytest.raises(InvalidPayload):
        check(b"\x01")
