"""Whether a field's default, written as JSON, is a value of the field's type."""

from typing import Any

from coordinators.schemas.formats.avro.types import (
    NO_DEFAULT,
    ArrayType,
    AvroType,
    MapType,
    RecordField,
    RecordType,
    UnionType,
)
from coordinators.schemas.formats.format import InvalidSchema

INT_BITS, LONG_BITS = 31, 63


def check_default(field: RecordField, record: str) -> None:
    """Raise `InvalidSchema` if the field has a default that does not fit."""
    if field.default is not NO_DEFAULT and not _fits(field.type, field.default):
        raise InvalidSchema(f"the default of the field {field.name!r} of {record} is no {field.type.title}")


def _fits(avro_type: AvroType, value: Any) -> bool:
    # Every step goes one level down into the value: however the types refer to each other, this ends.
    match avro_type:
        case UnionType(branches=branches):
            return any(_fits(branch, value) for branch in branches)
        case ArrayType(items=items):
            return isinstance(value, list) and all(_fits(items, each) for each in value)
        case MapType(values=values):
            return isinstance(value, dict) and all(_fits(values, each) for each in value.values())
        case RecordType(fields=fields):
            return isinstance(value, dict) and all(_field_fits(each, value) for each in fields)
    return _is_simple(avro_type.kind, value)


def _field_fits(field: RecordField, value: dict[str, Any]) -> bool:
    if field.name in value:
        return _fits(field.type, value[field.name])
    # Whether its own default fits is asked of the field itself.
    return field.default is not NO_DEFAULT


def _is_simple(kind: str, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            bits = INT_BITS if kind == "int" else LONG_BITS
            return is_number and value == int(value) and -(1 << bits) <= value < 1 << bits
        case "float" | "double":
            return is_number
    return isinstance(value, str)
