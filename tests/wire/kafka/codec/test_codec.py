"""The codec against clients: we read what kafka-python and aiokafka write, and they read what we write.

They name fields otherwise, so messages are compared by writing them again: the bytes must be the same.
"""

import uuid
from functools import cache
from io import BytesIO
from typing import Any

import aiokafka.protocol.admin
import aiokafka.protocol.commit
import aiokafka.protocol.coordination
import aiokafka.protocol.fetch
import aiokafka.protocol.group
import aiokafka.protocol.metadata
import aiokafka.protocol.offset
import aiokafka.protocol.produce
import aiokafka.protocol.transaction  # noqa: F401
import pytest
from aiokafka.protocol import types as aiokafka_types
from aiokafka.protocol.api import RequestStruct
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.wire.kafka.codec.kafka_definitions import message_classes
from tests.wire.kafka.codec.kio_bridge import kio_class, messages_module, struct_strategy
from tests.wire.kafka.codec.served import CASES, SERVED
from wire.kafka.codec import request_decoder, request_encoder, response_decoder, response_encoder
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.schema import Direction, FieldSchema, StructSchema, load_schema

FEW = settings(max_examples=4, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def kafka_python_class(key: int, direction: Direction) -> Any:
    return message_classes().get(f"{API_TABLE[key].name}{direction.capitalize()}")


def kafka_python_cases() -> list[tuple[int, int, Direction]]:
    return [
        (key, version, direction)
        for key, version, direction in CASES
        if (found := kafka_python_class(key, direction)) is not None and version <= found.max_version
    ]


def to_kafka_python(message: Any, schema: StructSchema, target: Any, version: int) -> Any:
    values = {}
    for member in schema.fields:
        value = getattr(message, member.name)
        if member.tag is not None and value == member.default:
            continue
        if member.name.endswith("authorized_operations") and "authorized_operations" in target._struct.fields:
            values["authorized_operations"] = bits(value)
        elif member.is_array and value is not None:
            values[member.name] = [scalar(each, member, target, version) for each in value]
        else:
            values[member.name] = scalar(value, member, target, version)
    return target(version=version, **values)


def bits(number: int) -> set[int]:
    """What kafka-python makes of a bit field: the numbers of the bits that are set."""
    return {bit for bit in range(32) if number & 1 << bit}


def scalar(value: Any, member: FieldSchema, target: Any, version: int) -> Any:
    if value is None:
        return None
    if member.struct is not None:
        return to_kafka_python(value, member.struct, getattr(target, member.struct.name), version)
    return uuid.UUID(bytes=value) if member.type == "uuid" else value


@pytest.mark.parametrize(("key", "version", "direction"), kafka_python_cases())
@FEW
@given(data=st.data())
def test_kafka_python_writes_and_reads_the_same_bytes(
    key: int, version: int, direction: Direction, data: st.DataObject
) -> None:
    schema, kio = load_schema(key, version, direction), kio_class(key, version, direction)
    is_request = direction == "request"
    encode = request_encoder(key, version) if is_request else response_encoder(key, version)
    decode = request_decoder(key, version) if is_request else response_decoder(key, version)
    message = data.draw(struct_strategy(schema, kio, messages_module(key), direction))
    target = kafka_python_class(key, direction)
    if target.name == "ApiVersionsResponse":
        message.error_code = 0  # kafka-python reads any other as version 0

    theirs = to_kafka_python(message, schema, target, version).encode(version=version)
    assert decode(theirs, 0) == message
    (ours,) = encode(message)
    read = target.decode(ours, version=version)
    assert target._struct.encode(read, version=version, compact=schema.flexible, tagged=schema.flexible) == theirs


# What aiokafka has wrong: a leader epoch of 64 bits (it never sends these), and the response of version 2.
WRONG_REQUESTS = ("OffsetRequest_v4", "OffsetRequest_v5")
WRONG_RESPONSES = ("DescribeGroupsRequest_v3",)


@cache
def aiokafka_requests(wrong: tuple[str, ...]) -> list[Any]:
    return sorted(
        (
            found
            for found in RequestStruct.__subclasses__()
            if found.API_KEY in SERVED and SERVED[found.API_KEY][0] <= found.API_VERSION and found.__name__ not in wrong
        ),
        key=lambda found: (found.API_KEY, found.API_VERSION),
    )


def aiokafka_value(kind: Any) -> st.SearchStrategy[Any]:
    if isinstance(kind, aiokafka_types.Schema):
        return st.tuples(*[aiokafka_value(inner) for inner in kind.fields])
    if isinstance(kind, aiokafka_types.Array):
        return st.lists(aiokafka_value(kind.array_of), max_size=3)
    if isinstance(kind, aiokafka_types.String):
        return st.text(max_size=5)
    if kind in (aiokafka_types.Bytes, aiokafka_types.CompactBytes):
        return st.binary(max_size=20)
    if kind is aiokafka_types.TaggedFields:
        return st.just({})
    if kind is aiokafka_types.Boolean:
        return st.booleans()
    bits = int(kind.__name__.removeprefix("Int"))
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@pytest.mark.parametrize("request_class", aiokafka_requests(WRONG_REQUESTS), ids=lambda found: found.__name__)
@FEW
@given(data=st.data())
def test_we_read_what_aiokafka_writes(request_class: Any, data: st.DataObject) -> None:
    key, version = request_class.API_KEY, request_class.API_VERSION
    theirs = request_class(*data.draw(aiokafka_value(request_class.SCHEMA))).encode()
    message = request_decoder(key, version)(theirs, 0)
    assert request_encoder(key, version)(message) == [theirs]


@pytest.mark.parametrize("request_class", aiokafka_requests(WRONG_RESPONSES), ids=lambda found: found.__name__)
@FEW
@given(data=st.data())
def test_aiokafka_reads_what_we_write(request_class: Any, data: st.DataObject) -> None:
    key, version = request_class.API_KEY, request_class.API_VERSION
    schema, kio = load_schema(key, version, "response"), kio_class(key, version, "response")
    message = data.draw(struct_strategy(schema, kio, messages_module(key), "response"))
    (ours,) = response_encoder(key, version)(message)
    buffer = BytesIO(ours)
    assert request_class.RESPONSE_TYPE.decode(buffer).encode() == ours
    assert not buffer.read()
