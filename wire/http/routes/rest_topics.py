"""Nodes, partitions and their offsets as REST v2 tells them; probes and making topics as Strimzi's bridge has them."""

from http import HTTPStatus
from typing import Annotated, Any

import msgspec

from wire.http.life import Life, Phase
from wire.http.messages import Call, Response
from wire.http.rest import formats
from wire.http.rest.bodies import decoded
from wire.http.rest.producing import Partition
from wire.http.rest.refusals import MEDIA_TYPE, REFUSALS, told_so
from wire.http.rest.topics_v2 import (
    BrokersV2,
    OffsetsV2,
    PartitionV2,
    create_topic,
    described,
    partition_of,
    partition_v2,
)
from wire.http.rights import BY_REQUESTS, OPEN
from wire.http.routes.topics import INT_MAX, TopicName, TopicPlace
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.reading import EARLIEST, LATEST, RecordReading
from wire.kafka.messages.metadata import MetadataRequest

DOOR = "http"


class PartitionPlace(msgspec.Struct):
    """Which partition."""

    topic: TopicName
    partition: Partition


class NewTopicV2(msgspec.Struct):
    """A topic to make; what is left out is as the broker's settings say."""

    topic_name: TopicName
    partitions_count: Annotated[int, msgspec.Meta(ge=1, le=INT_MAX)] | None = None
    replication_factor: Annotated[int, msgspec.Meta(ge=1, le=2**15 - 1)] | None = None
    config: dict[str, str | None] = {}


class CreatedTopicV2(msgspec.Struct):
    """It is there; the bridge itself says nothing."""

    topic_name: str
    partitions_count: int


async def healthy_v2(_: Call) -> Response:
    """The loop runs, or there would be no answer."""
    return Response(HTTPStatus.NO_CONTENT.value)


async def ready_v2(_: Call, life: Life) -> Response:
    """Whether Kafka's clients are served."""
    is_ready = life.phase is Phase.READY
    return Response((HTTPStatus.NO_CONTENT if is_ready else HTTPStatus.SERVICE_UNAVAILABLE).value)


async def list_brokers_v2(call: Call, inner: InnerClient) -> BrokersV2:
    """The nodes of the cluster, by number."""
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        answer = await inner.ask(guest, MetadataRequest([]))
    return BrokersV2(sorted(each.node_id for each in answer.brokers))


async def create_topic_v2(call: Call, inner: InnerClient) -> CreatedTopicV2:
    """Make a topic."""
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        wanted = decoded(call.request.body, NewTopicV2)
        await create_topic(inner, guest, wanted, wanted.config)
        found = await described(inner, guest, wanted.topic_name)
    return CreatedTopicV2(wanted.topic_name, len(found.partitions))


async def list_partitions_v2(call: Call, inner: InnerClient) -> list[PartitionV2]:
    """The partitions of a topic."""
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        found = await described(inner, guest, call.place.topic)
    return [partition_v2(each) for each in found.partitions]


async def show_partition_v2(call: Call, inner: InnerClient) -> PartitionV2:
    """One partition."""
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        return await partition_of(inner, guest, call.place.topic, call.place.partition)


async def show_offsets_v2(call: Call, inner: InnerClient, reading: RecordReading) -> OffsetsV2:
    """From where to where a partition can be read."""
    topic, partition = call.place.topic, call.place.partition
    with told_so(), inner.guest(call.caller, DOOR) as guest:
        await partition_of(inner, guest, topic, partition)
        ends = [await reading.offsets(guest, topic, {partition: time}, committed=False) for time in (EARLIEST, LATEST)]
    return OffsetsV2(*(end[partition] for end in ends))


def _v2(path: str, handle: Any, summary: str, answer: Any, place: Any = None) -> Route:
    return Route(
        "GET",
        path,
        handle,
        f"{summary} (REST v2)",
        answer=answer,
        **({} if place is None else {"place": place}),
        media_type=MEDIA_TYPE,
        problems=() if place is None else (404,),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    )


_PARTITION = "/topics/{topic}/partitions/{partition}"
ROUTES = (
    Route(
        "GET",
        "/healthy",
        healthy_v2,
        "Whether the broker is there (Strimzi's bridge)",
        status=204,
        needs_token=False,
        needs_readiness=False,
        rights=OPEN,
    ),
    Route(
        "GET",
        "/ready",
        ready_v2,
        "Whether Kafka's clients are served (Strimzi's bridge)",
        status=204,
        other_answers=(503,),
        needs_token=False,
        needs_readiness=False,
        rights=OPEN,
    ),
    Route(
        "POST",
        "/admin/topics",
        create_topic_v2,
        "Make a topic (Strimzi's bridge)",
        answer=CreatedTopicV2,
        media_type=MEDIA_TYPE,
        body=NewTopicV2,
        takes=(formats.PLAIN, MEDIA_TYPE, formats.media_type(formats.JSON)),
        status=201,
        problems=(403, 404, 409),
        refusals=REFUSALS,
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
    _v2("/brokers", list_brokers_v2, "The nodes of the cluster", BrokersV2),
    _v2("/topics/{topic}/partitions", list_partitions_v2, "The partitions of a topic", list[PartitionV2], TopicPlace),
    _v2(_PARTITION, show_partition_v2, "One partition", PartitionV2, PartitionPlace),
    _v2(f"{_PARTITION}/offsets", show_offsets_v2, "From where to where one can be read", OffsetsV2, PartitionPlace),
)
