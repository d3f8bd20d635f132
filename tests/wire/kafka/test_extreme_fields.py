"""Every number of every request at the ends of its range, every text as long as can be: an answer, never a bug."""

import logging
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import Door, frame, open_door
from tests.wire.kafka.requests import batch, create_topic
from tools.fuzz.codec import random_message
from wire.kafka.apis import Api, registered
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.schema import FORMATS, FieldSchema, StructSchema, load_schema
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest

LONGEST_TEXT = 2**15 - 1
INTEGER_BITS = {"b": 8, "h": 16, "i": 32, "q": 64}

# Values that lead a request past its first checks; other numbers begin at 0, other texts are empty.
SENSIBLE: dict[str, Any] = {
    "acks": 1,
    "coordinator_keys": ["g"],
    "count": 2,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "group": "g",
    "group_id": "g",
    "groups": ["g"],
    "groups_names": ["g"],
    "key": "g",
    "max_bytes": 1000,
    "num_partitions": 1,
    "partition_max_bytes": 1000,
    "partition_indexes": [0],
    "partitions": [0],
    "rebalance_timeout_ms": 10_000,
    "replication_factor": 1,
    "resource_name": "t",
    "resource_type": 2,
    "retention_time_ms": -1,
    "server_assignor": None,
    "session_timeout_ms": 10_000,
    "session_epoch": -1,
    "timeout_ms": 1000,
    "topic": "t",
    "topic_names": ["none"],
    "transaction_timeout_ms": 1000,
    "transactional_id": "id",
    "transactional_ids": ["id"],
    "v3_and_below_transactional_id": "id",
}
MADE_OR_UNMADE = ("create_topics", "delete_topics")


def sensible(schema: StructSchema, made: Any, api: Api, context: dict[str, Any]) -> Any:
    """The message with each array at one element, and values that are taken."""
    for member in schema.fields:
        value = getattr(made, member.name)
        if member.struct is not None:
            if member.is_array and not value:
                message = random_message(member.struct, _messages(api), "request", Random(1))
                value = [message]
            value = value[:1] if member.is_array else value
            for each in value if isinstance(value, list) else [value] if value is not None else []:
                sensible(member.struct, each, api, context)
        else:
            value = _plain(member, api, context)
        setattr(made, member.name, value)
    return made


def _plain(member: FieldSchema, api: Api, context: dict[str, Any]) -> Any:
    if member.name in context:
        return context[member.name]
    if member.name == "name":
        return "made" if api.name in MADE_OR_UNMADE else "t"
    if member.name in SENSIBLE and member.is_array == isinstance(SENSIBLE[member.name], list):
        return SENSIBLE[member.name]
    if member.is_array:
        return []
    if member.type == "string":
        return None if member.nullable else ""
    if member.type in ("bytes", "records"):
        return batch() if member.type == "records" else b""
    return bytes(16) if member.type == "uuid" else 0


def _messages(api: Api) -> Any:
    return import_module(f"wire.kafka.messages.{API_TABLE[api.key].module}")


def plain_fields(schema: StructSchema, message: Any) -> list[tuple[Any, FieldSchema]]:
    """Every message that holds a number or a text, and which."""
    found: list[tuple[Any, FieldSchema]] = []
    for member in schema.fields:
        value = getattr(message, member.name)
        if member.struct is not None:
            for each in value if isinstance(value, list) else [value] if value is not None else []:
                found += plain_fields(member.struct, each)
        elif member.type == "string" or FORMATS.get(member.type) in INTEGER_BITS:
            found.append((message, member))
    return found


def extremes(member: FieldSchema, *, with_texts: bool) -> list[Any]:
    """The largest and the smallest number, or texts of which an error message would be longer than a text can be."""
    if member.type == "string":
        return ["\n" * LONGEST_TEXT] if with_texts else []
    bits = INTEGER_BITS[FORMATS[member.type]]
    return [2 ** (bits - 1) - 1, -(2 ** (bits - 1))]


def requests_of(api: Api, version: int, context: dict[str, Any]) -> list[bytes]:
    """The request with each field in turn at its extremes."""
    schema = load_schema(api.key, version, "request")
    message = sensible(schema, random_message(schema, _messages(api), "request", Random(1)), api, context)
    frames = [frame(message, version, 0)]
    with_texts = version in (api.first_version, api.last_version)
    for owner, member in plain_fields(schema, message):
        kept = getattr(owner, member.name)
        for extreme in extremes(member, with_texts=with_texts):
            setattr(owner, member.name, [extreme] if member.is_array else extreme)
            frames.append(frame(message, version, len(frames)))
        setattr(owner, member.name, kept)
    return frames


async def _send_all(door: Door, frames: list[bytes]) -> None:
    client = await door.connect()
    await client.send_bytes(b"".join(frames))
    await client.stream.send_eof()
    while await client.stream.receive_some():
        pass
    await client.stream.aclose()


@pytest.mark.parametrize("api", registered().values(), ids=lambda api: api.name)
@trio_test
async def test_a_field_at_the_end_of_its_range_is_no_bug(
    tmp_path: Path, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_door(tmp_path, {"group.min.session.timeout.ms": 1, "offsets.topic.num.partitions": 1}) as door:
        client = await door.connect()
        topic_id = (await create_topic(client, "t")).topic_id
        for kind, key in enumerate(("g", "id")):
            await client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
        identity = await client.ask(InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=1000))
        assert identity.error_code == 0
        context = {
            "topic_id": topic_id,
            "producer_id": identity.producer_id,
            "v3_and_below_producer_id": identity.producer_id,
        }
        for version in range(api.first_version, api.last_version + 1):
            await _send_all(door, requests_of(api, version, context))
        ended = door.broker.server.ended
    bugs = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not bugs, caplog.text[-3000:]
    assert not ended["failed"] + ended["malformed"], caplog.text[-3000:]
