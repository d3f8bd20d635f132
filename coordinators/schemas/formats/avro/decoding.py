"""Reading what was written with an Avro schema, step by step: for people, and to say what is wrong where something is.

A type becomes a function that reads a value of it. Depth is bounded, and so is the number of items and of values that
take no bytes at all, of which a few bytes could promise any number. `skipping` is quicker; it does not know where it
was when it failed.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any

from attrs import define, field

from coordinators.schemas.formats.avro.json_encoding import branch_name
from coordinators.schemas.formats.avro.logical import exactly, for_people
from coordinators.schemas.formats.avro.types import (
    NULL,
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    RecordType,
    UnionType,
)
from coordinators.schemas.formats.format import InvalidPayload

MOST_DATA_LEVELS = 200
MOST_EMPTY_ITEMS = 100_000
MOST_EMPTY_VALUES = 1_000_000
"""Of fields that take no bytes: a record of thousands of them is one byte longer than nothing."""
LONGEST_VARINT = 10
_FLOAT, _DOUBLE = Struct("<f"), Struct("<d")

_Read = Callable[["AvroCursor"], Any]


@define(eq=False)
class AvroCursor:
    """Where a reading is."""

    payload: bytes
    position: int = 0
    level: int = 0
    empty_items: int = 0
    empty_values: int = 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        end = self.position + count
        if count < 0:
            raise InvalidPayload(f"a length of {count} bytes")
        if end > len(self.payload):
            raise InvalidPayload(f"{count} bytes are expected and {len(self.payload) - self.position} are left")
        taken = self.payload[self.position : end]
        self.position = end
        return taken

    def long(self) -> int:
        """A zig-zag number of variable length."""
        value = shift = 0
        for _ in range(LONGEST_VARINT):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise InvalidPayload("a number that does not end")

    def enter(self) -> None:
        """One level down."""
        self.level += 1
        if self.level > MOST_DATA_LEVELS:
            raise InvalidPayload(f"nested more than {MOST_DATA_LEVELS} levels deep")

    def leave(self) -> None:
        """One level up."""
        self.level -= 1


def decoder(avro_type: AvroType, *, is_exact: bool = False) -> Callable[[bytes], Any]:
    """What reads a payload of this type, all of it; raises `InvalidPayload`.

    For people, or exactly: as Avro's specification has values in JSON, with the names of unions' branches.
    """
    read = _Readers(is_exact).reader(avro_type)

    def decode(payload: bytes) -> Any:
        cursor = AvroCursor(payload)
        value = read(cursor)
        if cursor.position != len(payload):
            raise InvalidPayload(f"{len(payload) - cursor.position} bytes are left over")
        return value

    return decode


@define(eq=False)
class _Readers:
    """Readers of types, each made once; those of types under way are found when they are needed."""

    _is_exact: bool = False
    _made: dict[AvroType, _Read] = field(factory=dict)

    def reader(self, avro_type: AvroType) -> _Read:
        if avro_type in self._made:
            return self._made[avro_type]
        made = self._made
        made[avro_type] = lambda cursor: made[avro_type](cursor)
        made[avro_type] = (exactly if self._is_exact else for_people)(avro_type, self._make(avro_type))
        return made[avro_type]

    def _make(self, avro_type: AvroType) -> _Read:
        match avro_type:
            case RecordType():
                return self._record(avro_type)
            case ArrayType(items=items):
                return _array(self.reader(items))
            case MapType(values=values):
                return _map(self.reader(values))
            case UnionType(branches=branches):
                readers = [self.reader(branch) for branch in branches]
                return _named_union(branches, readers) if self._is_exact else _union(readers)
            case EnumType(symbols=symbols, name=name):
                return _enum(symbols, name.full)
            case FixedType(size=size):
                return lambda cursor: cursor.take(size)
        return _PRIMITIVES[avro_type.kind]

    def _record(self, record: RecordType) -> _Read:
        readers = [(each.name, self.reader(each.type)) for each in record.fields]
        nothings = sum(_takes_nothing(each.type) for each in record.fields)

        def read(cursor: AvroCursor) -> dict[str, Any]:
            cursor.enter()
            before = cursor.position
            if nothings:
                _count_values(cursor, nothings)
            value = {}
            for name, reader in readers:
                try:
                    value[name] = reader(cursor)
                except InvalidPayload as error:
                    raise error.within(name) from None
            cursor.leave()
            if cursor.position == before:
                _count_empty(cursor)
            return value

        return read


def _array(read_item: _Read) -> _Read:
    def read(cursor: AvroCursor) -> list[Any]:
        items: list[Any] = []
        cursor.enter()
        while count := _block(cursor):
            for _ in range(count):
                before = cursor.position
                try:
                    items.append(read_item(cursor))
                except InvalidPayload as error:
                    raise error.within(f"[{len(items)}]") from None
                if cursor.position == before:
                    _count_empty(cursor)
        cursor.leave()
        return items

    return read


def _map(read_value: _Read) -> _Read:
    def read(cursor: AvroCursor) -> dict[str, Any]:
        values: dict[str, Any] = {}
        cursor.enter()
        while count := _block(cursor):
            for _ in range(count):
                key = _string(cursor)
                try:
                    values[key] = read_value(cursor)
                except InvalidPayload as error:
                    raise error.within(f"[{key!r}]") from None
        cursor.leave()
        return values

    return read


def _block(cursor: AvroCursor) -> int:
    count = cursor.long()
    if count < 0:
        # The size of the block follows, for those who would skip it.
        cursor.long()
    return abs(count)


def _count_empty(cursor: AvroCursor) -> None:
    cursor.empty_items += 1
    if cursor.empty_items > MOST_EMPTY_ITEMS:
        raise InvalidPayload(f"more than {MOST_EMPTY_ITEMS} items that take no bytes")


def _takes_nothing(avro_type: AvroType) -> bool:
    return avro_type.kind == NULL or (isinstance(avro_type, FixedType) and avro_type.size == 0)


def _count_values(cursor: AvroCursor, count: int) -> None:
    cursor.empty_values += count
    if cursor.empty_values > MOST_EMPTY_VALUES:
        raise InvalidPayload(f"more than {MOST_EMPTY_VALUES} values that take no bytes")


def _union(readers: list[_Read]) -> _Read:
    def read(cursor: AvroCursor) -> Any:
        number = cursor.long()
        if not 0 <= number < len(readers):
            raise InvalidPayload(f"branch {number} of a union of {len(readers)}")
        return readers[number](cursor)

    return read


def _named_union(branches: tuple[AvroType, ...], readers: list[_Read]) -> _Read:
    names = [branch_name(branch) for branch in branches]
    numbered = [_numbered(number, read) for number, read in enumerate(readers)]
    read_union = _union(numbered)

    def read(cursor: AvroCursor) -> Any:
        number, value = read_union(cursor)
        return None if names[number] == NULL else {names[number]: value}

    return read


def _numbered(number: int, read: _Read) -> _Read:
    return lambda cursor: (number, read(cursor))


def _enum(symbols: tuple[str, ...], name: str) -> _Read:
    def read(cursor: AvroCursor) -> str:
        number = cursor.long()
        if not 0 <= number < len(symbols):
            raise InvalidPayload(f"symbol {number} of {name}, which has {len(symbols)}")
        return symbols[number]

    return read


def _boolean(cursor: AvroCursor) -> bool:
    byte = cursor.take(1)[0]
    if byte > 1:
        raise InvalidPayload(f"a boolean of {byte}")
    return byte == 1


def _int(cursor: AvroCursor) -> int:
    value = cursor.long()
    if not -(1 << 31) <= value < 1 << 31:
        raise InvalidPayload(f"{value} is no int of 32 bits")
    return value


def _float(cursor: AvroCursor) -> float:
    value: float = _FLOAT.unpack(cursor.take(4))[0]
    return value


def _double(cursor: AvroCursor) -> float:
    value: float = _DOUBLE.unpack(cursor.take(8))[0]
    return value


def _string(cursor: AvroCursor) -> str:
    taken = cursor.take(cursor.long())
    try:
        return taken.decode()
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"text that is not UTF-8: {error}") from None


_PRIMITIVES: dict[str, _Read] = {
    "null": lambda _: None,
    "boolean": _boolean,
    "int": _int,
    "long": AvroCursor.long,
    "float": _float,
    "double": _double,
    "bytes": lambda cursor: cursor.take(cursor.long()),
    "string": _string,
}
