"""The columns that schemas of each kind ask for."""

import json
from typing import Any

import pytest

from tools.pipelines.typed.columns import MOST_COLUMNS, column_of
from tools.pipelines.typed.decoding import understood
from tools.pipelines.typed.types import ColumnType


def column(kind: str, text: Any, payload: bytes = b"\0") -> ColumnType:
    told = {"schemaType": kind, "schema": text if isinstance(text, str) else json.dumps(text), "references": []}
    return column_of(kind, understood(told), payload)


def fields(of: ColumnType) -> dict[str, Any]:
    assert isinstance(of, dict)
    return {each["name"]: each["type"] for each in of["fields"]}


def record(*types: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{n}", "type": each} for n, each in enumerate(types)]}


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        ("int", "long"),
        ("float", "double"),
        (["null", "string"], "string"),
        (["int", "string"], "string"),
        ({"type": "fixed", "name": "F", "size": 2}, "binary"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "decimal(4,2)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 40}, "string"),
    ],
)
def test_avro(avro: Any, expected: str) -> None:
    assert fields(column("AVRO", record(avro)))["f0"] == expected


def test_a_type_inside_itself_is_text() -> None:
    tree = record("int", {"type": "array", "items": "R"})
    assert fields(column("AVRO", tree))["f1"]["elementType"] == "string"


def test_few_types_do_not_become_countless_columns() -> None:
    schema: Any = "int"
    for level in range(30):
        schema = record(schema, f"N{level - 1}" if level else "int", name=f"N{level}")
    assert json.dumps(column("AVRO", schema)).count('"name"') < 2 * MOST_COLUMNS


def test_json_schema() -> None:
    schema = {
        "definitions": {"line": {"type": "object", "properties": {"price": {"type": "number"}}}},
        "type": "object",
        "properties": {
            "id": {"type": ["integer", "null"]},
            "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}},
            "by": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "one": {"oneOf": [{"type": "null"}, {"type": "string"}]},
            "some": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "both": {"allOf": [{"$ref": "#/definitions/line"}, {"properties": {"note": {"type": "string"}}}]},
            "any": True,
        },
    }
    found = fields(column("JSON", schema))
    assert {name: kind for name, kind in found.items() if isinstance(kind, str)} == {
        "id": "long",
        "one": "string",
        "some": "string",
        "any": "string",
    }
    assert fields(found["lines"]["elementType"]) == {"price": "double"}
    assert (found["by"]["keyType"], found["by"]["valueType"]) == ("string", "boolean")
    assert fields(found["both"]) == {"price": "double", "note": "string"}


def test_protobuf_has_the_columns_of_the_message_that_is_meant() -> None:
    text = """
    syntax = "proto3";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Order {
      uint64 id = 1; google.protobuf.Timestamp at = 2; google.protobuf.Int32Value many = 3;
      map<int32, bytes> raw = 4; repeated Order parts = 5; Kind kind = 6;
    }
    message Other { string note = 1; }
    enum Kind { NONE = 0; }
    """
    found = fields(column("PROTOBUF", text))
    assert found["raw"]["valueType"] == "binary"
    assert found["parts"]["elementType"] == "string"
    assert [found[name] for name in ("id", "at", "many", "kind")] == ["decimal(20,0)", "timestamp", "long", "string"]
    assert fields(column("PROTOBUF", text, b"\x02\x02")) == {"note": "string"}
