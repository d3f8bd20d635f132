"""Descriptions of messages, from which the two code generators work.

They come from the tables in `wire.kafka.codec.schemas`, each of which holds all versions of an API; it is
imported when its API is first used.
"""

import importlib
from typing import Any, Literal

from attrs import frozen

from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.primitives import WireError
from wire.kafka.codec.rows import FieldRow, StructRows

Direction = Literal["request", "response"]

FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float64": "d",
    "uuid": "16s",
}
FORMAT_SIZES = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "d": 8, "16s": 16}
"""What a format of `FORMATS` takes on the wire."""


@frozen
class FieldSchema:
    """One field: its type is a key of `FORMATS`, `string`, `bytes`, `records` or `struct`."""

    name: str
    type: str
    is_array: bool
    nullable: bool
    tag: int | None
    default: Any
    struct: "StructSchema | None" = None

    @property
    def fixed_format(self) -> str | None:
        """The format of a single value of fixed size; None for anything else."""
        return None if self.is_array else FORMATS.get(self.type)


@frozen
class StructSchema:
    """One struct of one version; `name` is Kafka's, `fields` stand in wire order, tagged ones included."""

    name: str
    flexible: bool
    fields: tuple[FieldSchema, ...]

    @property
    def untagged(self) -> tuple[FieldSchema, ...]:
        return tuple(member for member in self.fields if member.tag is None)

    @property
    def tagged(self) -> tuple[FieldSchema, ...]:
        members = [member for member in self.fields if member.tag is not None]
        return tuple(sorted(members, key=lambda member: member.tag or 0))


def load_schema(api_key: int, version: int, direction: Direction) -> StructSchema:
    """The schema of one message of one version; a `WireError` if there is none."""
    api = API_TABLE.get(api_key)
    if api is None or not api.min_version <= version <= api.max_version:
        raise WireError(f"no schema for api key {api_key} version {version}")
    try:
        table = importlib.import_module(f"wire.kafka.codec.schemas.{api.module}")
    except ModuleNotFoundError:
        raise WireError(f"no schema for api key {api_key}, which is not served") from None
    return at_version(getattr(table, direction.upper()), version, flexible=version >= api.flexible_from)


def at_version(rows: StructRows, version: int, *, flexible: bool) -> StructSchema:
    """What the table says of one version."""
    members = (_field(row, version, flexible) for row in rows.rows if row.first_version <= version <= row.last_version)
    return StructSchema(rows.name, flexible, tuple(members))


def _field(row: FieldRow, version: int, flexible: bool) -> FieldSchema:
    struct = None if row.struct is None else at_version(row.struct, version, flexible=flexible)
    return FieldSchema(row.name, row.type, row.is_array, row.nullable, row.tag, row.default, struct)
