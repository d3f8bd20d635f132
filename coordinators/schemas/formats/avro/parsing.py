"""Understanding the text of an Avro schema, by the rules of Avro's specification as its Java library holds them.

Names are resolved while reading: a type may be referred to once its definition has begun, so records can contain
themselves. Schemas referred to are read first, and lend their names. Whether defaults fit their types is looked at when
all types are complete.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, field

from coordinators.schemas.formats.avro.defaults import DefaultCheck
from coordinators.schemas.formats.avro.types import (
    NO_DEFAULT,
    PRIMITIVES,
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    Name,
    NamedType,
    Primitive,
    RecordField,
    RecordType,
    UnionType,
)
from coordinators.schemas.formats.format import MOST_LEVELS, InvalidSchema

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
ORDERS = ("ascending", "descending", "ignore")
SHARED_WORDS = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
ENUM_WORDS = SHARED_WORDS | {"default"}
FIELD_WORDS = frozenset(("default", "doc", "name", "order", "type", "aliases"))
MOST_FIXED_BYTES = (1 << 31) - 1


@define(eq=False)
class AvroReading:
    """The reading of one text, and the names that are known by then."""

    known: dict[str, NamedType] = field(factory=dict)
    _defaults: list[tuple[RecordField, str]] = field(factory=list, init=False)

    def read(self, value: Any) -> AvroType:
        """The type that the text, read as JSON, describes; raises `InvalidSchema`."""
        avro_type = self._type(value, "")
        defaults = DefaultCheck()
        for each, record in self._defaults:
            defaults.check(each, record)
        return avro_type

    def _type(self, value: Any, space: str) -> AvroType:
        match value:
            case str():
                return self._called(value, space)
            case list():
                return self._union(value, space)
            case {"type": str() as kind}:
                return self._described(kind, value, space)
            case {"type": dict() | list() as inner}:
                # Some writers wrap a type once more than they had to.
                return self._type(inner, space)
        raise InvalidSchema(f"not a type: {_short(value)}")

    def _called(self, name: str, space: str) -> AvroType:
        if name in PRIMITIVES:
            return Primitive(name)
        found = self.known.get(_name(name, space).full) or self.known.get(name)
        if found is None:
            raise InvalidSchema(f"no type is called {name!r} here")
        return found

    def _described(self, kind: str, value: dict[str, Any], space: str) -> AvroType:
        if kind in PRIMITIVES:
            return Primitive(kind, properties=_others(value, SHARED_WORDS))
        reader = _READERS.get(kind)
        if reader is None:
            return self._called(kind, space)
        avro_type = reader(self, value, space)
        if avro_type.depth > MOST_LEVELS:
            raise InvalidSchema(f"types nested more than {MOST_LEVELS} levels deep")
        return avro_type

    # -- types without names

    def _array(self, value: dict[str, Any], space: str) -> AvroType:
        items = self._type(_needed(value, "items", "array"), space)
        return ArrayType(items, properties=_others(value, SHARED_WORDS), depth=items.depth + 1)

    def _map(self, value: dict[str, Any], space: str) -> AvroType:
        values = self._type(_needed(value, "values", "map"), space)
        return MapType(values, properties=_others(value, SHARED_WORDS), depth=values.depth + 1)

    def _union(self, value: list[Any], space: str) -> AvroType:
        branches = tuple(self._type(each, space) for each in value)
        kinds: set[str] = set()
        for branch in branches:
            if isinstance(branch, UnionType):
                raise InvalidSchema("a union directly within a union")
            kind = branch.name.full if isinstance(branch, NamedType) else branch.kind
            if kind in kinds:
                raise InvalidSchema(f"a union with {kind!r} twice")
            kinds.add(kind)
        depth = 1 + max((branch.depth for branch in branches), default=0)
        if depth > MOST_LEVELS:
            raise InvalidSchema(f"types nested more than {MOST_LEVELS} levels deep")
        return UnionType(branches, depth=depth)

    # -- types with names

    def _record(self, value: dict[str, Any], space: str) -> AvroType:
        name, aliases, doc = self._naming(value, space)
        properties = _others(value, SHARED_WORDS)
        record = RecordType(name, aliases, doc, is_error=value["type"] == "error", properties=properties)
        self._define(record)
        described = _needed(value, "fields", f"record {name.full}")
        if not isinstance(described, list):
            raise InvalidSchema(f"the fields of {name.full} are no list")
        fields = tuple(self._field(each, record) for each in described)
        if (twice := _twice(each.name for each in fields)) is not None:
            raise InvalidSchema(f"two fields of {name.full} are called {twice!r}")
        record.complete(fields)
        return record

    def _field(self, value: Any, record: RecordType) -> RecordField:
        if not isinstance(value, dict):
            raise InvalidSchema(f"a field of {record.name.full} is no object: {_short(value)}")
        name = _checked_name(_needed(value, "name", f"a field of {record.name.full}"))
        where = f"the field {name!r} of {record.name.full}"
        try:
            field_type = self._type(_needed(value, "type", where), record.name.space)
        except InvalidSchema as error:
            raise InvalidSchema(f"{error}, in {where}") from None
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in ORDERS:
            raise InvalidSchema(f"{where} has the order {_short(order)}")
        read = RecordField(
            name,
            field_type,
            _text(value, "doc", where),
            value.get("default", NO_DEFAULT),
            order.lower(),
            tuple(_texts(value.get("aliases", []), f"the aliases of {where}")),
            _others(value, FIELD_WORDS),
        )
        self._defaults.append((read, record.name.full))
        return read

    def _enum(self, value: dict[str, Any], space: str) -> AvroType:
        name, aliases, doc = self._naming(value, space)
        symbols = _texts(_needed(value, "symbols", f"enum {name.full}"), f"the symbols of {name.full}")
        for symbol in symbols:
            _checked_name(symbol)
        if (twice := _twice(symbols)) is not None:
            raise InvalidSchema(f"two symbols of {name.full} are {twice!r}")
        default = value.get("default")
        if default is not None and default not in symbols:
            raise InvalidSchema(f"the default of {name.full}, {_short(default)}, is none of its symbols")
        properties = _others(value, ENUM_WORDS)
        return self._define(EnumType(name, aliases, doc, tuple(symbols), default, properties=properties))

    def _fixed(self, value: dict[str, Any], space: str) -> AvroType:
        name, aliases, doc = self._naming(value, space)
        size = _needed(value, "size", f"fixed {name.full}")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MOST_FIXED_BYTES:
            raise InvalidSchema(f"fixed {name.full} has the size {_short(size)}")
        return self._define(FixedType(name, aliases, doc, size, properties=_others(value, SHARED_WORDS)))

    def _naming(self, value: dict[str, Any], space: str) -> tuple[Name, tuple[Name, ...], str | None]:
        given = _needed(value, "name", value["type"])
        if not isinstance(given, str):
            raise InvalidSchema(f"not a name: {_short(given)}")
        own_space = _text(value, "namespace", given)
        name = _name(given, space if own_space is None else own_space)
        for part in name.full.split("."):
            _checked_name(part)
        if name.simple in PRIMITIVES and not name.space:
            raise InvalidSchema(f"{name.full!r} is the name of a type of Avro's own")
        aliases = _texts(value.get("aliases", []), f"the aliases of {name.full}")
        return name, tuple(_name(alias, name.space) for alias in aliases), _text(value, "doc", name.full)

    def _define(self, named: NamedType) -> NamedType:
        if named.name.full in self.known:
            raise InvalidSchema(f"{named.name.full} is defined twice")
        self.known[named.name.full] = named
        return named


_READERS: dict[str, Callable[[AvroReading, dict[str, Any], str], AvroType]] = {
    "record": AvroReading._record,
    "error": AvroReading._record,
    "enum": AvroReading._enum,
    "fixed": AvroReading._fixed,
    "array": AvroReading._array,
    "map": AvroReading._map,
}


def _name(text: str, space: str) -> Name:
    own_space, dot, simple = text.rpartition(".")
    return Name(simple, own_space if dot else space)


def _checked_name(text: Any) -> str:
    if not isinstance(text, str) or NAME.fullmatch(text) is None:
        raise InvalidSchema(f"not a name: {_short(text)}")
    return text


def _needed(value: dict[str, Any], key: str, where: str) -> Any:
    if key not in value:
        raise InvalidSchema(f"{where} has no {key!r}")
    return value[key]


def _text(value: dict[str, Any], key: str, where: str) -> str | None:
    text = value.get(key)
    if text is not None and not isinstance(text, str):
        raise InvalidSchema(f"the {key} of {where} is no text: {_short(text)}")
    return text


def _texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidSchema(f"{where} are no list of texts")
    return value


def _twice(words: Iterable[str]) -> str | None:
    met: set[str] = set()
    for word in words:
        if word in met:
            return word
        met.add(word)
    return None


def _others(value: dict[str, Any], words: frozenset[str]) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if key not in words}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
