"""Whether a field's default, written as JSON, is a value of the field's type."""

from typing import Any

from attrs import define, field

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


MOST_STEPS = 500_000
"""Of all defaults of a schema: where unions hold unions, each level down multiplies what may have to be tried."""


@define(eq=False)
class DefaultCheck:
    """Of one schema."""

    _steps: int = field(default=0, init=False)

    def check(self, each: RecordField, record: str) -> None:
        """Raise `InvalidSchema` if the field has a default that does not fit."""
        if each.default is not NO_DEFAULT and not self.fits(each.type, each.default):
            raise InvalidSchema(f"the default of the field {each.name!r} of {record} is no {each.type.title}")

    def fits(self, avro_type: AvroType, value: Any) -> bool:
        """Whether it is a value of the type; raises `InvalidSchema` where that takes too long to tell."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise InvalidSchema("defaults that have too many ways to fit their types")
        # Every step goes one level down into the value: however the types refer to each other, this ends.
        match avro_type:
            case UnionType(branches=branches):
                return any(self.fits(branch, value) for branch in branches)
            case ArrayType(items=items):
                return isinstance(value, list) and all(self.fits(items, each) for each in value)
            case MapType(values=values):
                return isinstance(value, dict) and all(self.fits(values, each) for each in value.values())
            case RecordType(fields=fields):
                return isinstance(value, dict) and all(self._field_fits(each, value) for each in fields)
        return _is_simple(avro_type.kind, value)

    def _field_fits(self, each: RecordField, value: dict[str, Any]) -> bool:
        if each.name in value:
            return self.fits(each.type, value[each.name])
        # Whether its own default fits is asked of the field itself.
        return each.default is not NO_DEFAULT


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
