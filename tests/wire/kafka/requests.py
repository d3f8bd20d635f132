"""Requests that many tests of the door send, with the fields that do not matter filled in."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from engine.records.layout import build_batch
from tests.wire.kafka.door import Client, open_door
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from wire.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from wire.kafka.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)

BY_NAME = 12
"""The last version of Produce and of Fetch that names topics."""

BATCH_HEADER_BYTES = 61


def batch(values: list[bytes] | int = 1, **options: int) -> bytes:
    """A record batch; a number stands for so many small records."""
    if isinstance(values, int):
        values = [b"v%d" % number for number in range(values)]
    options.setdefault("timestamp_ms", int(time.time() * 1000))
    return build_batch([(b"k", value) for value in values], **options)  # type: ignore[arg-type]


def produce(topic: str, records: bytes | None, *, acks: int = -1, partition: int = 0) -> ProduceRequest:
    data = PartitionProduceData(partition, records)
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def fetch(
    topic: str,
    offset: int = 0,
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 2**31 - 1,
    partition: int = 0,
    topic_id: bytes = ZERO_UUID,
) -> FetchRequest:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        topics=[FetchTopic(topic_id=topic_id, topic=topic, partitions=[wanted])],
    )


async def create_topic(
    client: Client, name: str, partitions: int = 1, configs: dict[str, str] | None = None
) -> CreatableTopicResult:
    given = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=given)
    answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    result: CreatableTopicResult = answer.topics[0]
    assert result.error_code == 0, result.error_message
    return result


async def produced(
    client: Client, topic: str, records: bytes | None, *, acks: int = -1, partition: int = 0
) -> PartitionProduceResponse:
    """The answer for the one partition."""
    answer = await client.ask(produce(topic, records, acks=acks, partition=partition), BY_NAME)
    entry: PartitionProduceResponse = answer.responses[0].partition_responses[0]
    return entry


async def fetched(client: Client, topic: str, offset: int = 0, **options: int) -> PartitionData:
    answer = await client.ask(fetch(topic, offset, **options), BY_NAME)  # type: ignore[arg-type]
    entry: PartitionData = answer.responses[0].partitions[0]
    return entry


def bodies(records: object) -> bytes:
    """Of one stored batch, what the broker does not change: everything but base offset and leader epoch."""
    whole = bytes(records)  # type: ignore[call-overload]
    return whole[8:12] + whole[16:]


@asynccontextmanager
async def client_of_topic(
    data_dir: Path,
    partitions: int = 1,
    configs: dict[str, str] | None = None,
    settings: dict[str, object] | None = None,
) -> AsyncIterator[tuple[Client, bytes]]:
    """A broker with a topic `t`; gives a client and the topic's id."""
    async with open_door(data_dir, settings) as door:
        client = await door.connect()
        made = await create_topic(client, "t", partitions, configs)
        yield client, made.topic_id
