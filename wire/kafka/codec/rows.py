"""The form of the tables in `wire.kafka.codec.schemas`: structs with the fields of all versions, in wire order."""

from typing import Any, NamedTuple


class FieldRow(NamedTuple):
    """A field in the versions from first to last; one that changes has several rows. See `FieldSchema`."""

    name: str
    type: str
    first_version: int
    last_version: int
    default: Any = None
    is_array: bool = False
    nullable: bool = False
    tag: int | None = None
    struct: "StructRows | None" = None


class StructRows(NamedTuple):
    """A struct by Kafka's name."""

    name: str
    rows: tuple[FieldRow, ...]
