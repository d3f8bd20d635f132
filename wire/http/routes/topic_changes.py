"""`PATCH /topics/{topic}`: other configs, more partitions."""

from typing import Annotated

import msgspec

from wire.http.messages import Call
from wire.http.rights import BY_REQUESTS
from wire.http.routes.messages import DOOR
from wire.http.routes.topics import INT_MAX, TopicPlace
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC_RESOURCE = 2
SET, DELETE = 0, 1
TIMEOUT_MS = 30_000


class TopicChange(msgspec.Struct, forbid_unknown_fields=True):
    """What is to be otherwise: configs by name, of which null is set back, and how many partitions there are, which
    can only become more."""

    configs: dict[str, str | None] = {}
    partitions: Annotated[int, msgspec.Meta(ge=1, le=INT_MAX)] | None = None


class ChangedTopic(msgspec.Struct):
    """The topic afterwards."""

    name: str
    partitions: int


async def change_topic(call: Call, inner: InnerClient) -> ChangedTopic:
    """Alter a topic's configs, add partitions, or both; configs first."""
    name, change = call.place.topic, call.body
    with inner.guest(call.caller, DOOR) as guest:
        topic = await inner.known_topic(guest, name)
        if change.configs:
            await _alter(inner, guest, name, change.configs)
        if change.partitions is not None and change.partitions != topic.partition_count:
            await _extend(inner, guest, name, change.partitions)
        found = await inner.known_topic(guest, name)
    return ChangedTopic(name, found.partition_count)


async def _alter(inner: InnerClient, guest: Guest, name: str, configs: dict[str, str | None]) -> None:
    wanted = [AlterableConfig(key, DELETE if value is None else SET, value) for key, value in configs.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC_RESOURCE, name, wanted)])
    answer = await inner.ask(guest, request)
    for result in answer.responses:
        _check(result.error_code, result.error_message)


async def _extend(inner: InnerClient, guest: Guest, name: str, partitions: int) -> None:
    request = CreatePartitionsRequest([CreatePartitionsTopic(name, partitions, None)], TIMEOUT_MS)
    answer = await inner.ask(guest, request)
    for result in answer.results:
        _check(result.error_code, result.error_message)


def _check(code: int, message: str | None) -> None:
    if code:
        raise broker_error(code, message or code_name(code))


ROUTES = (
    Route(
        "PATCH",
        "/topics/{topic}",
        change_topic,
        "Alter a topic's configs, or add partitions",
        answer=ChangedTopic,
        place=TopicPlace,
        body=TopicChange,
        problems=(403, 404, 503),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
