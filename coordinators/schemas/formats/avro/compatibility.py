"""Whether a reader with one Avro schema can read what was written with another, as Avro's Java library judges it.

Names are compared without their namespaces, or by the reader's aliases. Pairs of types that are being compared count as
compatible, so that types which contain themselves come to an end. The work is bounded: two schemas that would take more
are called incompatible, with that reason.
"""

from attrs import define, field

from coordinators.schemas.formats.avro.types import (
    BYTES,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NO_DEFAULT,
    STRING,
    ArrayType,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    Primitive,
    RecordField,
    RecordType,
    UnionType,
)

MOST_COMPARISONS = 200_000
MOST_REASONS = 100
PROMOTIONS = {LONG: (INT,), FLOAT: (INT, LONG), DOUBLE: (INT, LONG, FLOAT), BYTES: (STRING,), STRING: (BYTES,)}
"""What a reader of the type can read besides the type itself."""


class _TooMuch(Exception):
    """The comparison has taken more than it may."""


@define(eq=False)
class AvroComparison:
    """The comparison of two schemas."""

    _found: dict[tuple[AvroType, AvroType], list[str]] = field(factory=dict, init=False)
    """What is known of pairs of reader and writer; of those under way, nothing bad."""
    _steps: int = field(default=0, init=False)

    def incompatibilities(self, reader: AvroType, writer: AvroType) -> list[str]:
        """What the reader cannot read of the writer's."""
        try:
            return self._compare(reader, writer, "/")
        except (_TooMuch, RecursionError):
            return ["TOO_COMPLEX: the two schemas are too intertwined to be compared"]

    def _compare(self, reader: AvroType, writer: AvroType, path: str) -> list[str]:
        pair = (reader, writer)
        if pair in self._found:
            return self._found[pair]
        self._steps += 1
        if self._steps > MOST_COMPARISONS:
            raise _TooMuch
        self._found[pair] = []
        # Cut short here: a type that is used twice by one that is used twice, and so on, repeats its reasons each time.
        reasons = self._found[pair] = self._judge(reader, writer, path)[:MOST_REASONS]
        return reasons

    def _judge(self, reader: AvroType, writer: AvroType, path: str) -> list[str]:
        if isinstance(writer, UnionType):
            return self._read_union(reader, writer, path)
        match reader, writer:
            case UnionType(), _:
                return self._read_into_union(reader, writer, path)
            case Primitive(), Primitive():
                if reader.kind == writer.kind or writer.kind in PROMOTIONS.get(reader.kind, ()):
                    return []
            case ArrayType(), ArrayType():
                return self._compare(reader.items, writer.items, f"{path}items/")
            case MapType(), MapType():
                return self._compare(reader.values, writer.values, f"{path}values/")
            case RecordType(), RecordType():
                return _names(reader, writer, path) or self._compare_fields(reader, writer, path)
            case EnumType(), EnumType():
                return _names(reader, writer, path) or _symbols(reader, writer, path)
            case FixedType(), FixedType():
                return _names(reader, writer, path) or _sizes(reader, writer, path)
        return [f"TYPE_MISMATCH at {path}: a reader of {reader.title} cannot read {writer.title}"]

    def _read_union(self, reader: AvroType, writer: UnionType, path: str) -> list[str]:
        """A reader must be able to read whichever branch was written."""
        reasons: list[str] = []
        for number, branch in enumerate(writer.branches):
            if isinstance(reader, UnionType):
                reasons += self._read_into_union(reader, branch, f"{path}{number}/")
            else:
                reasons += self._compare(reader, branch, path)
        return reasons

    def _read_into_union(self, reader: UnionType, writer: AvroType, path: str) -> list[str]:
        if any(not self._compare(branch, writer, path) for branch in reader.branches):
            return []
        return [f"MISSING_UNION_BRANCH at {path}: no branch of the reader's union can read {writer.title}"]

    def _compare_fields(self, reader: RecordType, writer: RecordType, path: str) -> list[str]:
        reasons: list[str] = []
        for number, each in enumerate(reader.fields):
            where = f"{path}fields/{number}/"
            sources = _sources(each, writer)
            if len(sources) > 1:
                reasons.append(f"AMBIGUOUS_FIELD at {where}: {each.name!r} and its aliases name several fields")
            elif sources:
                reasons += self._compare(each.type, sources[0].type, f"{where}type/")
            elif each.default is NO_DEFAULT:
                reasons.append(
                    f"READER_FIELD_MISSING_DEFAULT_VALUE at {where}: "
                    f"the field {each.name!r} of the reader has no default, and the writer has no such field"
                )
        return reasons


def _sources(each: RecordField, writer: RecordType) -> list[RecordField]:
    names = (each.name, *each.aliases)
    return [writer.by_name[name] for name in names if name in writer.by_name]


def _names(reader: NamedType, writer: NamedType, path: str) -> list[str]:
    if reader.name.simple == writer.name.simple or writer.name in reader.aliases:
        return []
    return [f"NAME_MISMATCH at {path}: the reader expects {reader.name.full}, and not {writer.name.full}"]


def _symbols(reader: EnumType, writer: EnumType, path: str) -> list[str]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return []
    return [f"MISSING_ENUM_SYMBOLS at {path}symbols: the reader's {reader.title} lacks {', '.join(missing)}"]


def _sizes(reader: FixedType, writer: FixedType, path: str) -> list[str]:
    if reader.size == writer.size:
        return []
    return [f"FIXED_SIZE_MISMATCH at {path}size: the reader expects {reader.size} bytes, and not {writer.size}"]
