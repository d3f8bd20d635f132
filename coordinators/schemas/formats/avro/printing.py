"""An Avro type written down again: in the order in which Avro's Java library writes it, names as short as can be.

Types that were lent by references are written as their names alone.
"""

from collections.abc import Collection
from typing import Any

from attrs import define, field

from coordinators.schemas.formats.avro.types import (
    NO_DEFAULT,
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    RecordField,
    RecordType,
    UnionType,
)


@define(eq=False)
class AvroPrinting:
    """The printing of one schema, as values of JSON."""

    sorts_properties: bool = False
    written: set[str] = field(factory=set)
    """Full names of what need not be written out (again)."""

    def print(self, avro_type: AvroType, space: str = "") -> Any:
        """The type as seen from this namespace."""
        match avro_type:
            case UnionType(branches=branches):
                return [self.print(branch, space) for branch in branches]
            case NamedType():
                return self._named(avro_type, space)
            case ArrayType(items=items):
                return {"type": "array", "items": self.print(items, space), **self._others(avro_type.properties)}
            case MapType(values=values):
                return {"type": "map", "values": self.print(values, space), **self._others(avro_type.properties)}
        if not avro_type.properties:
            return avro_type.kind
        return {"type": avro_type.kind, **self._others(avro_type.properties)}

    def _named(self, named: NamedType, space: str) -> Any:
        name = named.name
        if name.full in self.written:
            return name.seen_from(space)
        self.written.add(name.full)
        kind = "error" if isinstance(named, RecordType) and named.is_error else named.kind
        printed: dict[str, Any] = {"type": kind, "name": name.simple}
        if name.space != space:
            printed["namespace"] = name.space
        if named.doc is not None:
            printed["doc"] = named.doc
        self._add_content(named, printed)
        printed |= self._others(named.properties)
        if named.aliases:
            printed["aliases"] = [alias.seen_from(name.space) for alias in named.aliases]
        return printed

    def _add_content(self, named: NamedType, printed: dict[str, Any]) -> None:
        match named:
            case RecordType(fields=fields):
                printed["fields"] = [self._field(each, named.name.space) for each in fields]
            case EnumType(symbols=symbols, default=default):
                printed["symbols"] = list(symbols)
                if default is not None:
                    printed["default"] = default
            case FixedType(size=size):
                printed["size"] = size

    def _field(self, each: RecordField, space: str) -> dict[str, Any]:
        printed: dict[str, Any] = {"name": each.name, "type": self.print(each.type, space)}
        if each.doc is not None:
            printed["doc"] = each.doc
        if each.default is not NO_DEFAULT:
            printed["default"] = each.default
        if each.order != "ascending":
            printed["order"] = each.order
        if each.aliases:
            printed["aliases"] = list(each.aliases)
        return printed | self._others(each.properties)

    def _others(self, properties: dict[str, Any]) -> dict[str, Any]:
        return dict(sorted(properties.items())) if self.sorts_properties else properties


def printed(avro_type: AvroType, lent: Collection[str], *, normalized: bool) -> Any:
    """The schema of this type, which was lent the types of these names."""
    return AvroPrinting(normalized, set(lent)).print(avro_type)
