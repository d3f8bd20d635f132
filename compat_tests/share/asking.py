"""Requests in this project's own messages, on a connection of the wire tests."""

import struct
import time
from collections.abc import Mapping
from typing import Any

from compat_tests import brokers
from compat_tests.wire.connection import Wire
from wire.kafka.codec import is_flexible, request_encoder, response_decoder, schema_versions
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic

CLIENT_ID = b"compat"
GROUP_RESOURCE = 32
NOT_YET = (14, 15, 16)
"""The coordinator is loading, is not there, or is another."""
PATIENCE_SECONDS = 20.0


def ask(wire: Wire, message: Any, version: int | None = None) -> Any:
    """One request and its answer."""
    send(wire, message, version)
    return receive(wire, message, version)


def send(wire: Wire, message: Any, version: int | None = None) -> None:
    key, chosen = message.API_KEY, _version(message, version)
    header = struct.pack(">hhih", key, chosen, 7, len(CLIENT_ID)) + CLIENT_ID
    tags = b"\0" if is_flexible(key, chosen) else b""
    wire.send_frame(b"".join((header, tags, *request_encoder(key, chosen)(message))))


def receive(wire: Wire, message: Any, version: int | None = None) -> Any:
    key, chosen = message.API_KEY, _version(message, version)
    frame = wire.receive_frame()
    start = 5 if is_flexible(key, chosen) else 4
    assert frame[:4] == struct.pack(">i", 7)
    return response_decoder(key, chosen)(frame, start)


def _version(message: Any, version: int | None) -> int:
    return schema_versions(message.API_KEY)[1] if version is None else version


def topic_id(wire: Wire, topic: str) -> bytes:
    answer = ask(wire, MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12)
    return bytes(answer.topics[0].topic_id)


def set_group(bootstrap: str, group: str, configs: Mapping[str, object]) -> int:
    """Sets keys of a group; gives the error code."""
    given = [AlterableConfig(name=name, config_operation=0, value=str(value)) for name, value in configs.items()]
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=given)
    with Wire(bootstrap) as wire:
        answer = ask(wire, IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    return int(answer.responses[0].error_code)


def prepare_group(bootstrap: str, group: str, **configs: object) -> None:
    """A group that begins at the start of its topics and, as Kafka does, hands out again at once what was released."""
    wanted: dict[str, object] = {"share.auto.offset.reset": "earliest"}
    if brokers.target() == "tidegate":
        wanted["share.retry.backoff.ms"] = 0
    wanted |= {key.replace("_", "."): value for key, value in configs.items()}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (error := set_group(bootstrap, group, wanted)) in NOT_YET and time.monotonic() < deadline:
        time.sleep(0.05)
    assert error == 0
