"""Reads kio's schema of one message version into plain descriptions for the two code generators.

kio makes one dataclass per struct and version, typed with timedelta, datetime and enums; here they become raw
types again: fields that kio gave a time type get back the `_ms` that Kafka's own schema has in their name.
Importing kio is slow (a second for everything), so only the module of the asked version is imported, on
first use.
"""

import dataclasses
import datetime
import importlib
import types
import typing
from typing import Any, Literal

from attrs import evolve, frozen

from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.errors import WireError
from wire.kafka.messages.base import ZERO_UUID

Direction = Literal["request", "response"]

RAW_TYPES = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
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
    module = importlib.import_module(f"kio.schema.{api.module}.v{version}.{direction}")
    return _struct(getattr(module, f"{api.name}{direction.capitalize()}"))


def _struct(kio_class: Any) -> StructSchema:
    return StructSchema(
        name=kio_class.__name__,
        flexible=kio_class.__flexible__,
        fields=tuple(_field(member) for member in dataclasses.fields(kio_class)),
    )


def _field(member: "dataclasses.Field[Any]") -> FieldSchema:
    inner, is_array, nullable = _unwrap(member.type)
    kafka_type = member.metadata.get("kafka_type", "struct")
    is_time = kafka_type.startswith(("timedelta", "datetime"))
    raw_type = RAW_TYPES.get(kafka_type, kafka_type)
    if raw_type in FORMATS and not is_array:
        nullable = False  # kio's None is the zero uuid or the time -1: the wire has no null for them
    described = FieldSchema(
        name=f"{member.name}_ms" if is_time else member.name,
        type=raw_type,
        is_array=is_array,
        nullable=nullable,
        tag=member.metadata.get("tag"),
        default=None,
        struct=_struct(inner) if dataclasses.is_dataclass(inner) else None,
    )
    return _with_default(described, member.default)


def _unwrap(annotation: Any) -> tuple[Any, bool, bool]:
    """The innermost type, whether it is an array of it, and whether the field may be null."""
    nullable = False
    if isinstance(annotation, types.UnionType):
        nullable = True
        (annotation,) = (part for part in typing.get_args(annotation) if part is not type(None))
    if typing.get_origin(annotation) is tuple:
        return _unwrap(typing.get_args(annotation)[0])[0], True, nullable
    return annotation, False, nullable


def _with_default(described: FieldSchema, kio_default: Any) -> FieldSchema:
    """Kafka's default as a raw value; a nullable string without one is null, a tagged struct is absent."""
    default: Any
    if described.is_array:
        default = None if kio_default is None else []
    elif described.type == "struct":
        default = None
    elif described.type == "uuid":
        default = ZERO_UUID if kio_default in (None, dataclasses.MISSING) else kio_default.bytes
    elif kio_default is dataclasses.MISSING:
        default = _implicit_default(described)
    else:
        default = _raw(described, kio_default)
    return evolve(described, default=default)


def _implicit_default(described: FieldSchema) -> Any:
    if described.nullable or described.type == "records":
        return None
    return {"string": "", "bytes": b"", "bool": False, "float64": 0.0}.get(described.type, 0)


def _raw(described: FieldSchema, value: Any) -> Any:
    if value is None:
        return -1 if described.type == "int64" else None
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if described.type == "bool":
        return bool(value)
    if described.type == "string":
        return str(value)
    return bytes(value) if described.type == "bytes" else int(getattr(value, "value", value))
