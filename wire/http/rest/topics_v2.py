"""What v2 of Confluent's REST proxy and Strimzi's bridge tell of topics and partitions."""

from typing import Any, Protocol

import msgspec

from engine.errors import UnknownTopicOrPartition
from wire.http.messages import Request, Response
from wire.http.rest.refusals import MEDIA_TYPE, PARTITION_NOT_FOUND, RestRefusal
from wire.inner.asking import InnerClient
from wire.kafka.calls import Guest
from wire.kafka.errors import broker_error, code_name
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TIMEOUT_MS = 30_000
DEFAULT = -1


class BrokersV2(msgspec.Struct):
    """The nodes of the cluster."""

    brokers: list[int]


class ReplicaV2(msgspec.Struct):
    """A copy of a partition."""

    broker: int
    leader: bool
    in_sync: bool


class PartitionV2(msgspec.Struct):
    """A partition and its copies."""

    partition: int
    leader: int
    replicas: list[ReplicaV2]


class OffsetsV2(msgspec.Struct):
    """The offset of the first record of a partition, and of the next one to come."""

    beginning_offset: int
    end_offset: int


class TopicV2(msgspec.Struct):
    """A topic, its settings and partitions."""

    name: str
    configs: dict[str, str | None]
    partitions: list[PartitionV2]


class NewTopic(Protocol):
    """A topic to make; what is left out is as the broker's settings say."""

    topic_name: str
    partitions_count: int | None
    replication_factor: int | None


def is_wanted(request: Request) -> bool:
    """Whether the caller names these formats as what it accepts."""
    return MEDIA_TYPE in request.headers.get("accept", "")


def answer_v2(document: Any) -> Response:
    """An answer in them."""
    return Response(200, msgspec.json.encode(document), MEDIA_TYPE)


def partition_v2(found: MetadataResponsePartition) -> PartitionV2:
    """A partition, as it is told."""
    replicas = [ReplicaV2(each, each == found.leader_id, each in found.isr_nodes) for each in found.replica_nodes]
    return PartitionV2(found.partition_index, found.leader_id, replicas)


async def described(inner: InnerClient, guest: Guest, topic: str) -> MetadataResponseTopic:
    """A topic that the caller may know of."""
    wanted = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    answer = await inner.ask(guest, wanted)
    for found in answer.topics:
        if not found.error_code:
            told: MetadataResponseTopic = found
            told.partitions.sort(key=lambda each: each.partition_index)
            return told
    raise UnknownTopicOrPartition(f"there is no topic {topic!r}, or you may not know of it")


async def partition_of(inner: InnerClient, guest: Guest, topic: str, partition: int) -> PartitionV2:
    """One of its partitions."""
    found = (await described(inner, guest, topic)).partitions
    if partition >= len(found):
        raise RestRefusal(PARTITION_NOT_FOUND, f"{topic} has partitions 0 to {len(found) - 1}, not {partition}")
    return partition_v2(found[partition])


async def create_topic(inner: InnerClient, guest: Guest, wanted: NewTopic, settings: dict[str, str | None]) -> None:
    """Make a topic; raises why it is not made."""
    configs = [CreatableTopicConfig(name, value) for name, value in settings.items()]
    counts = wanted.partitions_count or DEFAULT, wanted.replication_factor or DEFAULT
    topic = CreatableTopic(wanted.topic_name, *counts, configs=configs)
    answer = await inner.ask(guest, CreateTopicsRequest([topic], TIMEOUT_MS))
    for each in answer.topics:
        if each.error_code:
            raise broker_error(each.error_code, each.error_message or code_name(each.error_code))
