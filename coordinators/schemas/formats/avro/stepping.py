"""The quickest way over payloads of Avro: a type becomes a program for `_stepping.c`.

That is compiled where there is a compiler (`python -m tools.compile`); elsewhere `skipping` makes Python code of the
type, which does the same more slowly.

A program is a row of numbers: instructions, each with its operands. Types that have others inside are routines, which
begin at a place of the row and end with END; what holds them names the place. What takes no bytes is left out. Behind
the last END stands one more number: whoever reads an instruction may look at the next.
"""

from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from attrs import define, field

from coordinators.schemas.formats.avro.skipping import skipper
from coordinators.schemas.formats.avro.types import (
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    Primitive,
    RecordType,
    UnionType,
)

VERSION = 1
END, SKIP, BOOLEAN, INT, LONG, BYTES, STRING, ENUM, UNION, BLOCKS, CALL = range(11)
NOTHING = -1
"""In place of a routine that would take no bytes."""
_PRIMITIVES = {
    "null": (),
    "boolean": (BOOLEAN,),
    "int": (INT,),
    "long": (LONG,),
    "float": (SKIP, 4),
    "double": (SKIP, 8),
    "bytes": (BYTES,),
    "string": (STRING,),
}
_KEY = Primitive("string")

is_compiled = False
with suppress(ImportError):
    from coordinators.schemas.formats.avro import _stepping

    # Another version is an older one that was left behind: it may read programs otherwise.
    is_compiled = _stepping.VERSION == VERSION


def stepper(avro_type: AvroType) -> Callable[[bytes], bool]:
    """What tells whether a payload is certainly a value of this type, all of it; the type is one that `safety` calls
    bounded."""
    return partial(_stepping.is_sound, program(avro_type)) if is_compiled else skipper(avro_type)


def program(avro_type: AvroType) -> "array[int]":
    """See the module; it begins with a call of the type's routine, if there is anything to step over."""
    routines = _Routines()
    entry = routines.place([avro_type])
    routines.numbers[:3] = [END, END, END] if entry == NOTHING else [CALL, entry, END]
    return array("i", [*routines.numbers, END])


@define(eq=False)
class _Routines:
    """Routines written one after the other, those first that others name."""

    numbers: list[int] = field(factory=lambda: [END, END, END])
    _places: dict[tuple[int, ...], int] = field(factory=dict)

    def place(self, types: list[AvroType]) -> int:
        """Where the routine begins that steps over these, one after the other; it is written if it was not yet."""
        key = tuple(map(id, types))
        known = self._places.get(key)
        if known is None:
            steps = [number for each in types for number in self._steps(each)]
            # One that only calls another is that one.
            known = steps[1] if len(steps) == 2 and steps[0] == CALL else self._written(steps)
            self._places[key] = known
        return known

    def _written(self, steps: list[int]) -> int:
        if not steps:
            return NOTHING
        place = len(self.numbers)
        self.numbers += [*steps, END]
        return place

    def _steps(self, avro_type: AvroType) -> list[int]:
        match avro_type:
            case RecordType(fields=fields):
                routine = self.place([each.type for each in fields])
                return [] if routine == NOTHING else [CALL, routine]
            case ArrayType(items=items):
                return [BLOCKS, self.place([items])]
            case MapType(values=values):
                return [BLOCKS, self.place([_KEY, values])]
            case UnionType(branches=branches):
                return [UNION, len(branches), *(self.place([branch]) for branch in branches)]
            case EnumType(symbols=symbols):
                return [ENUM, len(symbols)]
            case FixedType(size=size):
                return [SKIP, size] if size else []
        return list(_PRIMITIVES[avro_type.kind])
