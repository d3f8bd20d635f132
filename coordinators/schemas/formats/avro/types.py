"""Avro's types as they were understood from a text.

Types that have names may contain themselves: they are compared by identity, and whoever walks over them has to mind
whom he has met. Properties that Avro does not know are kept, in their order.
"""

from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

NULL, BOOLEAN, INT, LONG, FLOAT, DOUBLE, BYTES, STRING = PRIMITIVES = (
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
)
NO_DEFAULT: Any = object()
"""In place of a field's default, since null can be one."""


@frozen
class Name:
    """A simple name and the namespace that it belongs to, if any."""

    simple: str
    space: str = ""

    @property
    def full(self) -> str:
        """As others refer to it from anywhere."""
        return f"{self.space}.{self.simple}" if self.space else self.simple

    def seen_from(self, space: str) -> str:
        """As short as it can be said within this namespace."""
        return self.simple if self.space == space else self.full


@define(eq=False)
class AvroType:
    """Any type."""

    kind: str = field(default="", init=False)
    properties: dict[str, Any] = field(factory=dict, kw_only=True)
    depth: int = field(default=1, kw_only=True)
    """So many types lie within each other here, this one with them, apart from where one contains itself."""

    @property
    def title(self) -> str:
        """What to call it when talking to people."""
        return self.kind


@define(eq=False)
class Primitive(AvroType):
    """A type that has nothing in it."""

    kind: str


@define(eq=False)
class ArrayType(AvroType):
    """A list of items of one type."""

    kind: str = field(default="array", init=False)
    items: AvroType


@define(eq=False)
class MapType(AvroType):
    """Values of one type by text."""

    kind: str = field(default="map", init=False)
    values: AvroType


@define(eq=False)
class UnionType(AvroType):
    """One of several types."""

    kind: str = field(default="union", init=False)
    branches: tuple[AvroType, ...]


@define(eq=False)
class NamedType(AvroType):
    """A type that others can refer to."""

    name: Name
    aliases: tuple[Name, ...] = ()
    doc: str | None = None

    @property
    def title(self) -> str:
        """What to call it when talking to people."""
        return f"{self.kind} {self.name.full}"


@define(eq=False)
class EnumType(NamedType):
    """One of several words."""

    kind: str = field(default="enum", init=False)
    symbols: tuple[str, ...] = ()
    default: str | None = None


@define(eq=False)
class FixedType(NamedType):
    """Bytes, always as many."""

    kind: str = field(default="fixed", init=False)
    size: int = 0


@define(eq=False)
class RecordField:
    """A field of a record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = NO_DEFAULT
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    properties: dict[str, Any] = field(factory=dict)


@define(eq=False)
class RecordType(NamedType):
    """Fields, one after the other."""

    kind: str = field(default="record", init=False)
    fields: tuple[RecordField, ...] = ()
    is_error: bool = False
    by_name: dict[str, RecordField] = field(factory=dict, init=False)

    def complete(self, fields: tuple[RecordField, ...]) -> None:
        """Give it its fields, which may refer to it."""
        self.fields = fields
        self.by_name = {each.name: each for each in fields}
        self.depth = 1 + max((each.type.depth for each in fields), default=0)


def parts(avro_type: AvroType) -> Iterator[AvroType]:
    """The types that this one is made of."""
    match avro_type:
        case ArrayType(items=inner) | MapType(values=inner):
            yield inner
        case UnionType(branches=branches):
            yield from branches
        case RecordType(fields=fields):
            yield from (each.type for each in fields)


def everything_in(avro_type: AvroType) -> Iterator[AvroType]:
    """This type and all that it is made of, each once."""
    met, waiting = {id(avro_type)}, [avro_type]
    while waiting:
        current = waiting.pop()
        yield current
        for part in parts(current):
            if id(part) not in met:
                met.add(id(part))
                waiting.append(part)
