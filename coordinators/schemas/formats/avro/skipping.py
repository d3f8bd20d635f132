"""Stepping over what was written with an Avro schema, to see that it can be read: no value is made of it.

A type becomes straight Python code, which knows nothing but where it is; for types that `safety` calls bounded. Where
it finds anything odd it gives up, and `decoding` is asked what is wrong, and whether it is. What it accepts, `decoding`
accepts.
"""

from collections.abc import Callable

from attrs import define, field

from coordinators.schemas.formats.avro.types import (
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    RecordType,
    UnionType,
)

Skip = Callable[[bytes, int, int], int]
"""Payload, where a value begins and where the payload ends; gives where the value ends."""
LONGEST_VARINT = 10
SAFE_INT_BYTES = 4
"""A number of so many bytes has no more than 32 bits."""


class Odd(Exception):
    """Whether this can be read, somebody else must say."""


def skipper(avro_type: AvroType) -> Callable[[bytes], bool]:
    """What tells whether a payload is certainly a value of this type, all of it."""
    code = _Code()
    entry = code.function(avro_type)
    names = {"_number": _number, "_long": _long, "_int": _int, "Odd": Odd}
    exec("\n".join(code.lines), names)
    skip: Skip = names[entry]  # type: ignore[assignment]

    def is_sound(payload: bytes) -> bool:
        try:
            return skip(payload, 0, len(payload)) == len(payload)
        except (IndexError, UnicodeDecodeError, Odd):
            return False

    return is_sound


def _number(payload: bytes, at: int) -> tuple[int, int]:
    """A number of variable length as it is written, sign in the last bit, and where it ends."""
    value = shift = 0
    for place in range(at, at + LONGEST_VARINT):
        byte = payload[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise Odd


def _long(payload: bytes, at: int) -> int:
    for place in range(at, at + LONGEST_VARINT):
        if payload[place] < 0x80:
            return place + 1
    raise Odd


def _int(payload: bytes, at: int) -> int:
    end = _long(payload, at)
    if end - at > SAFE_INT_BYTES and _number(payload, at)[0] >> 32:
        raise Odd
    return end


_NUMBER = ("m = p[i]", "if m < 128: i += 1", "else: m, i = _number(p, i)")
_LENGTH = (*_NUMBER, "if m & 1: raise Odd", "j = i + (m >> 1)", "if j > n: raise Odd")
_PRIMITIVES: dict[str, tuple[str, ...]] = {
    "null": (),
    "boolean": ("if p[i] > 1: raise Odd", "i += 1"),
    "int": ("if p[i] < 128: i += 1", "else: i = _int(p, i)"),
    "long": ("if p[i] < 128: i += 1", "else: i = _long(p, i)"),
    "float": ("i += 4",),
    "double": ("i += 8",),
    "bytes": (*_LENGTH, "i = j"),
    "string": (*_LENGTH, "s = p[i:j]", "if not s.isascii(): s.decode()", "i = j"),
}


@define(eq=False)
class _Code:
    """Functions, one for each type that has others inside."""

    lines: list[str] = field(factory=list)
    _names: dict[int, str] = field(factory=dict)
    _empty: set[str] = field(factory=set)
    """Those of types that take no bytes."""

    def function(self, avro_type: AvroType) -> str:
        """The name of the function that steps over a type, written if it was not yet."""
        known = self._names.get(id(avro_type))
        if known is not None:
            return known
        body = self._body(avro_type)
        name = self._names[id(avro_type)] = f"skip_{len(self._names)}"
        if not body:
            self._empty.add(name)
        self.lines += [f"def {name}(p, i, n):", *(f" {line}" for line in body), " return i"]
        return name

    def _steps(self, avro_type: AvroType) -> list[str]:
        """The lines for a type inside another."""
        match avro_type:
            case RecordType() | ArrayType() | MapType():
                name = self.function(avro_type)
                return [f"i = {name}(p, i, n)"] if name not in self._empty else []
        return self._body(avro_type)

    def _body(self, avro_type: AvroType) -> list[str]:
        match avro_type:
            case RecordType(fields=fields):
                steps = [line for each in fields for line in self._steps(each.type)]
                # Types that hold others twice over, level by level, would be countless steps behind the end.
                return ["if i > n: raise Odd", *steps] if steps else []
            case ArrayType(items=items):
                return _blocks(self._steps(items))
            case MapType(values=values):
                return _blocks([*_PRIMITIVES["string"], *self._steps(values)])
            case UnionType(branches=branches):
                return self._union(branches)
            case EnumType(symbols=symbols):
                return [*_NUMBER, f"if m & 1 or m >> 1 >= {len(symbols)}: raise Odd"]
            case FixedType(size=size):
                return [f"i += {size}"] if size else []
        return list(_PRIMITIVES[avro_type.kind])

    def _union(self, branches: tuple[AvroType, ...]) -> list[str]:
        if not branches:
            return ["raise Odd"]
        lines = list(_NUMBER)
        for number, branch in enumerate(branches):
            lines += [f"{'el' if number else ''}if m == {number * 2}:"]
            lines += [f" {line}" for line in self._steps(branch) or ["pass"]]
        return [*lines, "else: raise Odd"]


def _blocks(item: list[str]) -> list[str]:
    """Items in blocks, each with their number in front; with a minus it is followed by the block's size in bytes."""
    return [
        "while True:",
        *(f" {line}" for line in _NUMBER),
        " if m == 0: break",
        " if m & 1:",
        "  i, m = _long(p, i), m + 1",
        # An item has a byte at least: whoever promises more of them than there are bytes will not keep it.
        " if m >> 1 > n - i: raise Odd",
        " for _ in range(m >> 1):",
        *(f"  {line}" for line in item or ["raise Odd"]),
    ]
