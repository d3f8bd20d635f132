"""Column types, in Spark's own JSON form, and values made to fit them.

Numbers are as wide as they come (`long`, `double`), so that a schema may widen them later and files stay alike. What
has no type of its own in a table, such as a choice of types or a type that contains itself, is text: JSON, or the value
itself where that is text.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

ColumnType = str | dict[str, Any]
"""A name such as `long`, or an object that says what is inside."""
LONG, DOUBLE, TEXT, BOOLEAN, BINARY = "long", "double", "string", "boolean", "binary"
DATE, MOMENT, LOCAL_MOMENT = "date", "timestamp", "timestamp_ntz"
MOST_DIGITS = 38
MOST_LEVELS = 50
"""Of columns within columns; below them is text."""


def struct(fields: Iterable[tuple[str, ColumnType]]) -> ColumnType:
    """An object. Names count as one that differ in nothing but case, as Spark has it: the first of them is there."""
    kept: dict[str, dict[str, Any]] = {}
    for name, kind in fields:
        kept.setdefault(name.lower(), {"name": name, "type": kind, "nullable": True, "metadata": {}})
    # Parquet has no objects without fields.
    return {"type": "struct", "fields": list(kept.values())} if kept else TEXT


def array(items: ColumnType) -> ColumnType:
    return {"type": "array", "elementType": items, "containsNull": True}


def mapping(values: ColumnType) -> ColumnType:
    return {"type": "map", "keyType": TEXT, "valueType": values, "valueContainsNull": True}


def decimal(precision: Any, scale: Any) -> ColumnType:
    """Text, where it has more digits than a table's numbers can have."""
    if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= MOST_DIGITS and precision:
        return f"decimal({precision},{scale})"
    return TEXT


Bytes = Callable[[str], bytes]
"""How bytes are told in JSON: Avro and Protobuf have ways of their own."""
FROM_TEXT: dict[str, Bytes] = {
    "AVRO": lambda text: text.encode("latin-1"),
    "PROTOBUF": lambda text: base64.b64decode(text, validate=True),
    "JSON": str.encode,
}


def fitted(value: Any, kind: ColumnType, from_text: Bytes) -> Any:
    """A value as PySpark takes it for a column of this type; None if it does not fit."""
    if value is None:
        return None
    if isinstance(kind, dict):
        return _fitted_inside(value, kind, from_text)
    try:
        if kind == BINARY:
            return from_text(value) if isinstance(value, str) else None
        if kind.startswith("decimal("):
            return _decimal(value, *map(int, kind[len("decimal(") : -1].split(",")))
        return _SIMPLE[kind](value)
    except (ValueError, TypeError, OverflowError, InvalidOperation, binascii.Error):
        return None


def _fitted_inside(value: Any, kind: dict[str, Any], from_text: Bytes) -> Any:
    if kind["type"] == "array":
        is_list = isinstance(value, list)
        return [fitted(each, kind["elementType"], from_text) for each in value] if is_list else None
    if not isinstance(value, dict):
        return None
    if kind["type"] == "map":
        return {str(name): fitted(each, kind["valueType"], from_text) for name, each in value.items()}
    fields = kind["fields"]
    return {each["name"]: fitted(value.get(each["name"]), each["type"], from_text) for each in fields}


def _long(value: Any) -> int | None:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        return None
    number = int(value)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _double(value: Any) -> float | None:
    return None if isinstance(value, bool) else float(value)


def _decimal(value: Any, precision: int, scale: int) -> Decimal | None:
    number = Decimal(str(value)).quantize(Decimal(1).scaleb(-scale))
    return number if number.is_finite() and number.adjusted() < precision - scale else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_SIMPLE: dict[str, Callable[[Any], Any]] = {
    LONG: _long,
    DOUBLE: _double,
    TEXT: _text,
    BOOLEAN: lambda value: value if isinstance(value, bool) else None,
    DATE: date.fromisoformat,
    MOMENT: _moment,
    LOCAL_MOMENT: lambda value: datetime.fromisoformat(value).replace(tzinfo=None),
}
