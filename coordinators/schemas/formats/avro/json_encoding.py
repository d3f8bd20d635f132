"""Values as Avro's specification has them in JSON, written as bytes: what a union holds is in an object under the name
of its branch (`{"string": "x"}`), bytes are text whose characters are the bytes.

A value of a union that is not wrapped so is taken for the first branch that it fits: people leave it out.
"""

import math
import struct
from collections.abc import Callable
from typing import Any

from attrs import define, field

from coordinators.schemas.formats.avro.defaults import DefaultCheck
from coordinators.schemas.formats.avro.logical import as_meant
from coordinators.schemas.formats.avro.types import (
    NO_DEFAULT,
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    RecordType,
    UnionType,
)
from coordinators.schemas.formats.format import InvalidPayload
from coordinators.schemas.formats.json_text import is_deeper

MOST_LEVELS = 200
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""As Java writes what JSON has no numbers for."""
MOST_STEPS = 5_000_000
"""Of writing a value. A few lines of a schema can ask for more: where unions hold unions, or defaults of records hold
records with defaults, each level multiplies the work."""
FAILURE_STEPS = 10
"""What it takes to find that a value is none of a union's branch."""


class _TooMuch(Exception):
    """It takes too long."""


class _Output(bytearray):
    """What was written, and how much work that was."""

    steps = 0

    def work(self, steps: int) -> None:
        """Count what is about to be done."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise _TooMuch


_Write = Callable[[_Output, Any], None]


def branch_name(avro_type: AvroType) -> str:
    """What a union's branch is called in JSON."""
    return avro_type.name.full if isinstance(avro_type, NamedType) else avro_type.kind


def encoder(avro_type: AvroType, *, takes_shown: bool = False) -> Callable[[Any], bytes]:
    """What writes a value of this type; raises `InvalidPayload`. It may also take values of logical types as people
    write them and are shown them: decimals, days, times."""
    write = _Writers(takes_shown).writer(avro_type)

    def encode(value: Any) -> bytes:
        if is_deeper(value, MOST_LEVELS):
            raise InvalidPayload(f"nested more than {MOST_LEVELS} levels deep")
        out = _Output()
        try:
            write(out, value)
        except RecursionError:
            raise InvalidPayload("defaults that hold themselves") from None
        except _TooMuch:
            raise InvalidPayload("too many ways to write it") from None
        return bytes(out)

    return encode


@define(eq=False)
class _Writers:
    """Writers of types, each made once; those of types under way are found when they are needed."""

    _takes_shown: bool = False
    _made: dict[AvroType, _Write] = field(factory=dict, init=False)
    _plain: "_Writers | None" = field(default=None, init=False)
    """Of defaults, which are never as people write them."""

    def writer(self, avro_type: AvroType) -> _Write:
        if avro_type in self._made:
            return self._made[avro_type]
        made = self._made
        made[avro_type] = lambda out, value: made[avro_type](out, value)
        made[avro_type] = self._reading(avro_type, self._make(avro_type))
        return made[avro_type]

    def _reading(self, avro_type: AvroType, write: _Write) -> _Write:
        read = as_meant(avro_type) if self._takes_shown else None
        return write if read is None else lambda out, value: write(out, read(value))

    def _default_writer(self, avro_type: AvroType) -> _Write:
        if not self._takes_shown:
            return self.writer(avro_type)
        self._plain = self._plain or _Writers()
        return self._plain.writer(avro_type)

    def _make(self, avro_type: AvroType) -> _Write:
        match avro_type:
            case RecordType():
                return self._record(avro_type)
            case ArrayType(items=items):
                return _array(self.writer(items))
            case MapType(values=values):
                return _map(self.writer(values))
            case UnionType(branches=branches):
                return _union([(branch_name(branch), self.writer(branch)) for branch in branches])
            case EnumType(symbols=symbols):
                return _enum({symbol: number for number, symbol in enumerate(symbols)})
            case FixedType(size=size):
                return _fixed(size)
        return _PRIMITIVES[avro_type.kind]

    def _record(self, record: RecordType) -> _Write:
        writers = [
            (each.name, self.writer(each.type), self._default_writer(each.type), _default(each.type, each.default))
            for each in record.fields
        ]

        def write(out: _Output, value: Any) -> None:
            if not isinstance(value, dict):
                raise _unfit(value, record.title)
            out.work(1 + len(writers))
            for name, writer, write_default, default in writers:
                if name not in value and default is NO_DEFAULT:
                    raise InvalidPayload("is missing and has no default", name)
                try:
                    if name in value:
                        writer(out, value[name])
                    else:
                        write_default(out, default)
                except InvalidPayload as error:
                    raise error.within(name) from None
            unknown = value.keys() - record.by_name.keys()
            if unknown:
                raise InvalidPayload(f"{record.title} has no such field", min(unknown))

        return write


def _default(avro_type: AvroType, default: Any) -> Any:
    """A field's default as values are given; one of a union is of the first branch that it fits."""
    if default in (NO_DEFAULT, None) or not isinstance(avro_type, UnionType):
        return default
    check = DefaultCheck()
    return next({branch_name(branch): default} for branch in avro_type.branches if check.fits(branch, default))


def _unfit(value: Any, wanted: str) -> InvalidPayload:
    kinds = {dict: "an object", list: "an array", str: "text", bool: "a boolean", type(None): "null"}
    return InvalidPayload(f"{kinds.get(type(value), 'a number')} is no {wanted}")


def _array(write_item: _Write) -> _Write:
    def write(out: _Output, value: Any) -> None:
        if not isinstance(value, list):
            raise _unfit(value, "array")
        out.work(len(value))
        if value:
            _long(out, len(value))
        for number, item in enumerate(value):
            try:
                write_item(out, item)
            except InvalidPayload as error:
                raise error.within(f"[{number}]") from None
        out.append(0)

    return write


def _map(write_value: _Write) -> _Write:
    def write(out: _Output, value: Any) -> None:
        if not isinstance(value, dict):
            raise _unfit(value, "map")
        out.work(len(value))
        if value:
            _long(out, len(value))
        for key, each in value.items():
            _string(out, key)
            try:
                write_value(out, each)
            except InvalidPayload as error:
                raise error.within(f"[{key!r}]") from None
        out.append(0)

    return write


def _union(branches: list[tuple[str, _Write]]) -> _Write:
    named = {name: (number, write) for number, (name, write) in enumerate(branches)}

    def write(out: _Output, value: Any) -> None:
        if isinstance(value, dict) and len(value) == 1 and (name := next(iter(value))) in named:
            number, write_branch = named[name]
            _long(out, number)
            write_branch(out, value[name])
            return
        before = len(out)
        for number, (_, write_branch) in enumerate(branches):
            out.work(1)
            try:
                _long(out, number)
                write_branch(out, value)
            except InvalidPayload:
                del out[before:]
                out.work(FAILURE_STEPS)
            else:
                return
        raise InvalidPayload(f"none of the union's branches ({', '.join(named)}) takes it")

    return write


def _enum(numbers: dict[str, int]) -> _Write:
    def write(out: _Output, value: Any) -> None:
        if not isinstance(value, str) or value not in numbers:
            raise InvalidPayload(f"{value!r:.100} is none of {', '.join(numbers)}")
        _long(out, numbers[value])

    return write


def _fixed(size: int) -> _Write:
    def write(out: _Output, value: Any) -> None:
        data = _latin(value)
        if len(data) != size:
            raise InvalidPayload(f"{len(data)} bytes where {size} are expected")
        out += data

    return write


def _latin(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _unfit(value, "text of bytes")
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise InvalidPayload("bytes are text of the characters U+0000 to U+00FF") from None


def _long(out: _Output, value: int) -> None:
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def _integer(bits: int, name: str) -> _Write:
    most = 1 << (bits - 1)

    def write(out: _Output, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _unfit(value, name)
        if not -most <= value < most:
            raise InvalidPayload(f"{value} is no {name} of {bits} bits")
        _long(out, value)

    return write


def _real(layout: struct.Struct, name: str) -> _Write:
    def write(out: _Output, value: Any) -> None:
        number = _NOT_FINITE.get(value, value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise _unfit(value, name)
        try:
            out += layout.pack(number)
        except (OverflowError, struct.error):
            raise InvalidPayload(f"{value} is no {name}") from None

    return write


def _string(out: _Output, value: Any) -> None:
    if not isinstance(value, str):
        raise _unfit(value, "string")
    data = value.encode()
    _long(out, len(data))
    out += data


def _bytes(out: _Output, value: Any) -> None:
    data = _latin(value)
    _long(out, len(data))
    out += data


def _boolean(out: _Output, value: Any) -> None:
    if not isinstance(value, bool):
        raise _unfit(value, "boolean")
    out.append(value)


def _null(_: _Output, value: Any) -> None:
    if value is not None:
        raise _unfit(value, "null")


_PRIMITIVES: dict[str, _Write] = {
    "null": _null,
    "boolean": _boolean,
    "int": _integer(32, "int"),
    "long": _integer(64, "long"),
    "float": _real(_FLOAT, "float"),
    "double": _real(_DOUBLE, "double"),
    "bytes": _bytes,
    "string": _string,
}
