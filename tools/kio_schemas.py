"""Reads kio's schema of one message version into the plain descriptions that the codec is made from.

kio makes one dataclass per struct and version, typed with timedelta, datetime and enums; here they become raw
types again: fields that kio gave a time type get back the `_ms` that Kafka's own schema has in their name.
"""

import dataclasses
import datetime
import importlib
import types
import typing
from typing import Any

from attrs import evolve

from wire.kafka.codec.schema import FORMATS, Direction, FieldSchema, StructSchema
from wire.kafka.messages.base import ZERO_UUID

RAW_TYPES = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}


def read_schema(module: str, name: str, version: int, direction: Direction) -> StructSchema:
    """The schema of one message of one version, by kio's name of the API's module and Kafka's of the API."""
    loaded = importlib.import_module(f"kio.schema.{module}.v{version}.{direction}")
    return _struct(getattr(loaded, f"{name}{direction.capitalize()}"))


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
