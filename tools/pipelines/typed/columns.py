"""The type of the column that holds what a schema describes."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tools.pipelines.typed import types
from tools.pipelines.typed.types import MOST_LEVELS, ColumnType, array, mapping, struct

Inner = Callable[[Any], ColumnType]


MOST_COLUMNS = 5_000
"""Of one schema: a few types that use each other twice can promise any number."""


class _Columns:
    """The columns of types that may contain themselves: there, very deep down and beyond the bound is text."""

    def __init__(self, column: Callable[[Any, Inner], ColumnType]) -> None:
        self._column = column
        self._left = MOST_COLUMNS

    def of(self, thing: Any, within: tuple[int, ...] = ()) -> ColumnType:
        self._left -= 1
        if id(thing) in within or len(within) > MOST_LEVELS or self._left < 0:
            return types.TEXT
        return self._column(thing, lambda inner: self.of(inner, (*within, id(thing))))


# -- Avro

_AVRO = {
    "boolean": types.BOOLEAN,
    "int": types.LONG,
    "long": types.LONG,
    "float": types.DOUBLE,
    "double": types.DOUBLE,
    "bytes": types.BINARY,
    "fixed": types.BINARY,
}
_AVRO_LOGICAL = {
    ("int", "date"): types.DATE,
    ("int", "time-millis"): types.TEXT,
    ("long", "time-micros"): types.TEXT,
    ("long", "timestamp-millis"): types.MOMENT,
    ("long", "timestamp-micros"): types.MOMENT,
    ("long", "local-timestamp-millis"): types.LOCAL_MOMENT,
    ("long", "local-timestamp-micros"): types.LOCAL_MOMENT,
}


def _avro(avro_type: Any, inner: Inner) -> ColumnType:
    match avro_type.kind:
        case "record":
            return struct((each.name, inner(each.type)) for each in avro_type.fields)
        case "array":
            return array(inner(avro_type.items))
        case "map":
            return mapping(inner(avro_type.values))
        case "union":
            branches = [branch for branch in avro_type.branches if branch.kind != "null"]
            return inner(branches[0]) if len(branches) == 1 else types.TEXT
    logical = avro_type.properties.get("logicalType")
    if logical == "decimal" and avro_type.kind in ("bytes", "fixed"):
        return types.decimal(avro_type.properties.get("precision"), avro_type.properties.get("scale", 0))
    if isinstance(logical, str) and (avro_type.kind, logical) in _AVRO_LOGICAL:
        return _AVRO_LOGICAL[avro_type.kind, logical]
    return _AVRO.get(avro_type.kind, types.TEXT)


# -- JSON Schema

_JSON = {"integer": types.LONG, "number": types.DOUBLE, "boolean": types.BOOLEAN, "string": types.TEXT}


def _json(documents: Any, node: Any, inner: Inner) -> ColumnType:
    if not isinstance(node, dict):
        return types.TEXT
    if "$ref" in node:
        return inner(documents.target(node))
    for keyword in ("oneOf", "anyOf"):
        if keyword in node:
            choices = [each for each in node[keyword] if not isinstance(each, dict) or each.get("type") != "null"]
            return inner(choices[0]) if len(choices) == 1 else types.TEXT
    kind = node.get("type", "object" if "properties" in node or "allOf" in node else None)
    kinds = [each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"]
    if kinds == ["object"]:
        return _json_object(node, inner)
    if kinds == ["array"]:
        return array(inner(node["items"])) if isinstance(node.get("items"), dict) else array(types.TEXT)
    if set(kinds) == {"integer", "number"}:
        return types.DOUBLE
    return _JSON.get(str(kinds[0]), types.TEXT) if len(kinds) == 1 else types.TEXT


def _json_object(node: dict[str, Any], inner: Inner) -> ColumnType:
    fields = [(name, inner(each)) for name, each in node.get("properties", {}).items()]
    for part in map(inner, node.get("allOf", ())):
        if isinstance(part, dict) and part["type"] == "struct":
            fields += [(each["name"], each["type"]) for each in part["fields"]]
    others = node.get("additionalProperties")
    if not fields and isinstance(others, dict):
        return mapping(inner(others))
    return struct(fields)


# -- Protobuf

_WELL_KNOWN = {
    "google.protobuf.Timestamp": types.MOMENT,
    "google.protobuf.Duration": types.TEXT,
    "google.protobuf.FieldMask": types.TEXT,
    "google.protobuf.Struct": types.TEXT,
    "google.protobuf.Value": types.TEXT,
    "google.protobuf.ListValue": types.TEXT,
    "google.protobuf.Any": types.TEXT,
}
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_UINT64 = types.decimal(20, 0)


def _message(descriptor: Any, inner: Inner) -> ColumnType:
    if descriptor.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[descriptor.full_name]
    if descriptor.full_name in _WRAPPERS:
        return _field(descriptor.fields_by_name["value"], inner)
    return struct((each.name, _field(each, inner)) for each in descriptor.fields)


def _field(field: Any, inner: Inner) -> ColumnType:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return mapping(_field(field.message_type.fields_by_name["value"], inner))
    single = inner(field.message_type) if field.message_type is not None else _scalar(field)
    return array(single) if field.is_repeated else single


def _scalar(field: Any) -> ColumnType:
    if field.type in (field.TYPE_UINT64, field.TYPE_FIXED64):
        return _UINT64
    if field.type == field.TYPE_BYTES:
        return types.BINARY
    return {
        field.CPPTYPE_INT32: types.LONG,
        field.CPPTYPE_INT64: types.LONG,
        field.CPPTYPE_UINT32: types.LONG,
        field.CPPTYPE_DOUBLE: types.DOUBLE,
        field.CPPTYPE_FLOAT: types.DOUBLE,
        field.CPPTYPE_BOOL: types.BOOLEAN,
    }.get(field.cpp_type, types.TEXT)


def column_of(kind: str, schema: Any, payload: bytes) -> ColumnType:
    """What a schema of this kind makes of a payload; only Protobuf's needs to see it, to know which message it is."""
    if kind == "AVRO":
        return _Columns(_avro).of(schema.type)
    if kind == "JSON":
        return _Columns(partial(_json, schema.documents)).of(schema.documents.root)
    return _Columns(_message).of(schema.message_of(payload))
