"""Ids before payloads: decoded where a schema is known, made where one is named."""

import json
from typing import Any
from uuid import UUID

import pytest

from tools.cli.errors import NotFound, UsageMistake
from tools.cli.formats import Record
from tools.cli.framing import Schemas, decoding, encoding

AVRO = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int", "default": 3}]})
PROTOBUF = """syntax = "proto3"; package shop;
message Order { int32 id = 1; } message Bill { message Line { bytes raw = 1; } }"""
GUID = "0f343b09-40cc-4c26-b6b2-d8a7d5b1b1c5"


DECIMAL = {"logicalType": "decimal", "precision": 5, "scale": 2}
EVENT = json.dumps(
    {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "price", "type": {"type": "bytes", **DECIMAL}},
            {"name": "fixed", "type": {"type": "fixed", "name": "F", "size": 2, **DECIMAL}},
            {"name": "raw", "type": "bytes"},
            {"name": "ratio", "type": "double"},
            {"name": "maybe", "type": ["null", {"type": "long", "logicalType": "time-micros"}]},
            {"name": "tax", "type": {"type": "bytes", **DECIMAL}, "default": "\u0000"},
        ],
    }
)


class Registry:
    """One schema of each type, by ids 1 to 3, and the first by a guid."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}

    def ask(self, method: str, *path: str, **_: Any) -> Any:
        known = {("ids", "1"): AVRO, ("guids", GUID): AVRO, ("ids", "2"): '{"type": "object", "required": ["id"]}'}
        known["ids", "3"] = PROTOBUF
        known |= {("ids", name): text for name, text in self.answers.items()}
        if path[1:] not in known:
            raise NotFound("no such schema")
        return {"schema": known[path[1:]], "schemaType": {"2": "JSON", "3": "PROTOBUF"}.get(path[2], "AVRO")}

    def schema(self, schema_id: int) -> Any:
        return self.ask("GET", "schemas", "ids", str(schema_id))

    def version(self, subject: str, version: str) -> Any:
        assert (subject, version) == ("orders-value", "latest")
        return {**self.schema(1), "id": 1}


@pytest.fixture
def schemas() -> Schemas:
    return Schemas(Registry())  # type: ignore[arg-type]


def decoded(schemas: Schemas, value: bytes | None, **headers: bytes) -> bytes | None:
    shown: list[Record] = []
    decoding(schemas, shown.append)(Record("t", 0, 0, 0, None, value, tuple(headers.items())))
    return shown[0].value


def test_what_names_a_schema_is_shown_as_json_and_the_rest_as_it_is(schemas: Schemas) -> None:
    assert decoded(schemas, b"\0\0\0\0\1\x0e") == b'{"id":7}'
    assert decoded(schemas, b'\0\0\0\0\2{"id": 1}') == b'{"id":1}'
    guid = b"\1" + UUID(GUID).bytes
    assert decoded(schemas, guid + b"\x0e") == b'{"id":7}'
    assert decoded(schemas, b"\x0e", __value_schema_id=guid) == b'{"id":7}'
    for plain in (None, b"", b"text", b"\0\0\0\0\x09\x0e", b"\0\0\0\0\1", b"\0\0\0\0\1\x0e\x0e"):
        assert decoded(schemas, plain) == plain


def test_json_is_written_by_the_schema_that_is_named(schemas: Schemas) -> None:
    assert encoding(schemas, "1")(b'{"id": 7}') == b"\0\0\0\0\1\x0e"
    assert encoding(schemas, "orders-value")(b"{}") == b"\0\0\0\0\1\x06", "what is missing is as the schema has it"
    assert encoding(schemas, "2")(b'{"id": 1}') == b'\0\0\0\0\2{"id":1}'
    for name, value in (("1", b'{"id": "x"}'), ("1", b"nonsense"), ("2", b"{}")):
        with pytest.raises(UsageMistake):
            encoding(schemas, name)(value)


def test_what_is_shown_can_be_sent_again(schemas: Schemas) -> None:
    """Decimals, days and times as people write them; the raw values are taken as well."""
    schemas.registry.answers["4"] = EVENT  # type: ignore[attr-defined]
    shown = {
        "day": "2026-11-19",
        "at": "2026-11-19T04:12:56.397000+00:00",
        "price": "-12.30",
        "fixed": "0.05",
        "raw": "\u00ff\u0000a",
        "ratio": "inf",
        "maybe": "00:00:01.500000",
    }
    payload = encoding(schemas, "4")(json.dumps(shown).encode())
    assert json.loads(decoded(schemas, payload) or b"") == {**shown, "tax": "0.00"}
    raw = {**shown, "day": 20_776, "at": 1_795_061_576_397, "price": -12.3, "maybe": 1_500_000, "ratio": "Infinity"}
    assert encoding(schemas, "4")(json.dumps(raw).encode()) == payload
    for name, value in (
        ("price", "12.345"),
        ("price", "much"),
        ("price", "1e999999999"),
        ("fixed", "99999999"),
        ("day", "yesterday"),
    ):
        with pytest.raises(UsageMistake, match=f"{name}: "):
            encoding(schemas, "4")(json.dumps({**shown, name: value}).encode())


def test_protobuf_is_written_too(schemas: Schemas) -> None:
    assert encoding(schemas, "3")(b'{"id": 7}') == b"\0\0\0\0\3\0\x08\x07"
    line = encoding(schemas, "3", "shop.Bill.Line")(b'{"raw": "/w=="}')
    assert line == b"\0\0\0\0\3\x04\x02\0\x0a\x01\xff"
    assert decoded(schemas, line) == b'{"raw":"/w=="}'
    assert encoding(schemas, "3", "Bill.Line")(b'{"raw": "/w=="}') == line


@pytest.mark.parametrize(
    ("value", "message", "reason"),
    [
        (b'{"id": "x"}', "", "no shop.Order: .*id"),
        (b'{"other": 1}', "", "no shop.Order: .*other"),
        (b"[]", "", "no shop.Order"),
        (b"{}", "shop.Nobody", "no message is called 'shop.Nobody': there are Order, Bill"),
    ],
)
def test_what_no_message_can_hold_is_told(schemas: Schemas, value: bytes, message: str, reason: str) -> None:
    with pytest.raises(UsageMistake, match=reason):
        encoding(schemas, "3", message)(value)


def test_messages_are_protobufs(schemas: Schemas) -> None:
    with pytest.raises(UsageMistake, match="--message is for Protobuf"):
        encoding(schemas, "1", "Order")
