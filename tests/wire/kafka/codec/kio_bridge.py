"""Hypothesis strategies for our messages, and our messages as the objects that kio writes and reads."""

import dataclasses
import datetime
import importlib
import io
import uuid
from types import ModuleType
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from tools.own_fields import is_own
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.decoding import message_class
from wire.kafka.codec.schema import Direction, FieldSchema, StructSchema

INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
ERROR_CODES = [code.value for code in ErrorCode]
# kio's datetime has whole seconds and ends with the year 9999
SECONDS_MAX = 253_402_300_799


def kio_class(key: int, version: int, direction: Direction) -> Any:
    entry = API_TABLE[key]
    module = importlib.import_module(f"kio.schema.{entry.module}.v{version}.{direction}")
    return getattr(module, f"{entry.name}{direction.capitalize()}")


def messages_module(key: int) -> ModuleType:
    return importlib.import_module(f"wire.kafka.messages.{API_TABLE[key].module}")


def kafkas_fields(schema: StructSchema) -> list[FieldSchema]:
    return [member for member in schema.fields if not is_own(member)]


def struct_strategy(
    schema: StructSchema, kio: Any, messages: ModuleType, direction: Direction
) -> st.SearchStrategy[Any]:
    """Any message of this version that kio can hold too."""
    members = zip(kafkas_fields(schema), dataclasses.fields(kio), strict=True)
    values = {member.name: value_strategy(member, twin, messages, direction) for member, twin in members}
    return st.builds(message_class(messages, schema.name, direction), **values)


def value_strategy(
    member: FieldSchema, twin: Any, messages: ModuleType, direction: Direction
) -> st.SearchStrategy[Any]:
    if member.struct is not None:
        single = struct_strategy(member.struct, inner_class(twin.type), messages, direction)
    else:
        single = scalar_strategy(member, twin)
    value = st.lists(single, max_size=3) if member.is_array else single
    is_absent_struct = member.struct is not None and member.tag is not None and not member.is_array
    return st.none() | value if member.nullable or is_absent_struct else value


def scalar_strategy(member: FieldSchema, twin: Any) -> st.SearchStrategy[Any]:
    kafka_type = twin.metadata["kafka_type"]
    if kafka_type == "error_code":
        return st.sampled_from(ERROR_CODES)
    if kafka_type == "datetime_i64":
        times = st.integers(0, SECONDS_MAX).map(lambda seconds: seconds * 1000)
        return st.just(-1) | times if "None" in str(twin.type) else times
    if kafka_type == "timedelta_i64":
        # kio goes through seconds in floating point: beyond some 35,000 years it rounds.
        return st.integers(-(2**50), 2**50)
    if member.type in INTEGERS:
        bits = INTEGERS[member.type]
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    others = {
        "bool": st.booleans(),
        "uuid": st.binary(min_size=16, max_size=16),
        "string": st.text(max_size=5) | st.text("é", min_size=70, max_size=140),
        "bytes": st.binary(max_size=200),
        "records": st.binary(max_size=200),
    }
    return others[member.type]


def inner_class(annotation: Any) -> Any:
    """The dataclass inside `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    while not dataclasses.is_dataclass(annotation):
        annotation = next(part for part in annotation.__args__ if part is not type(None))
    return annotation


def to_kio(message: Any, schema: StructSchema, kio: Any) -> Any:
    values = {}
    for member, twin in zip(kafkas_fields(schema), dataclasses.fields(kio), strict=True):
        value = getattr(message, member.name)
        if value is None and member.tag is not None:
            value = twin.default
        elif member.is_array and value is not None:
            value = tuple(scalar_to_kio(element, member, twin) for element in value)
        else:
            value = scalar_to_kio(value, member, twin)
        values[twin.name] = value
    return kio(**values)


def scalar_to_kio(value: Any, member: FieldSchema, twin: Any) -> Any:
    if value is None:
        return None
    if member.struct is not None:
        return to_kio(value, member.struct, inner_class(twin.type))
    kafka_type = twin.metadata["kafka_type"]
    if kafka_type == "error_code":
        return ErrorCode(value)
    if kafka_type.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if kafka_type == "datetime_i64":
        return None if value == -1 else datetime.datetime.fromtimestamp(value // 1000, datetime.UTC)
    if kafka_type == "uuid":
        return uuid.UUID(bytes=value) if any(value) else None
    return bytes(value) if kafka_type in ("records", "bytes") else value


def kio_encode(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def kio_decode(kio: Any, encoded: bytes) -> Any:
    entity, size = entity_reader(kio)(encoded, 0)
    assert size == len(encoded), "kio left bytes over"
    return entity
