"""Requests that several wire tests send, with the fields that do not matter filled in."""

from typing import Any

from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.producer import ProduceRequest

from compat_tests.wire.batches import Batch, parse
from compat_tests.wire.connection import Wire, ask

NO_TOPIC_ID = "00000000-0000-0000-0000-000000000000"
FETCH_BY_ID, PRODUCE_BY_ID = 13, 13


def versions_of(bootstrap: str) -> dict[int, tuple[int, int]]:
    """The version range of every API that the broker advertises."""
    answer = ask(bootstrap, ApiVersionsRequest(version=0))
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def topic_id(bootstrap: str, topic: str) -> str:
    answer = ask(bootstrap, MetadataRequest(version=12, topics=[metadata_topic(topic)]))
    return str(answer.topics[0].topic_id)


def metadata_topic(name: str | None, identity: str = NO_TOPIC_ID) -> Any:
    return MetadataRequest.MetadataRequestTopic(name=name, topic_id=identity)


def produce(
    topic: str,
    records: bytes | None,
    *,
    version: int = 9,
    acks: int = -1,
    partition: int = 0,
    identity: str = NO_TOPIC_ID,
) -> Any:
    data = ProduceRequest.TopicProduceData.PartitionProduceData(index=partition, records=records)
    named = ProduceRequest.TopicProduceData(name=topic, topic_id=identity, partition_data=[data])
    return ProduceRequest(version=version, transactional_id=None, acks=acks, timeout_ms=10_000, topic_data=[named])


def produced(bootstrap: str, request: Any) -> Any:
    """The answer for the one partition of a Produce request."""
    return ask(bootstrap, request).responses[0].partition_responses[0]


def fetch_partition(offset: int, partition: int = 0, max_bytes: int = 1 << 20, leader_epoch: int = -1) -> Any:
    return FetchRequest.FetchTopic.FetchPartition(
        partition=partition,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )


def fetch(
    topic: str,
    partitions: list[Any],
    *,
    version: int = 12,
    identity: str = NO_TOPIC_ID,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 50 << 20,
    session_id: int = 0,
    session_epoch: int = -1,
    isolation: int = 0,
) -> Any:
    topics = []
    if partitions:
        topics = [FetchRequest.FetchTopic(topic=topic, topic_id=identity, partitions=partitions)]
    return FetchRequest(
        version=version,
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=[],
        rack_id="",
    )


def fetched(bootstrap: str, topic: str, offset: int = 0, **options: Any) -> Any:
    """The answer for partition 0 of a plain Fetch."""
    return ask(bootstrap, fetch(topic, [fetch_partition(offset)], **options)).responses[0].partitions[0]


def batches(bootstrap: str, topic: str) -> list[Batch]:
    """All batches of partition 0, from the start of its log."""
    found: list[Batch] = []
    with Wire(bootstrap) as wire:
        offset = earliest(wire, topic)
        while True:
            answer = wire.ask(fetch(topic, [fetch_partition(offset)]))
            partition = answer.responses[0].partitions[0]
            assert partition.error_code == 0
            piece = parse(bytes(partition.records or b""))
            if not piece:
                return found
            found += piece
            offset = found[-1].last_offset + 1


def earliest(wire: Wire, topic: str) -> int:
    return int(wire.ask(list_offsets(topic, -2)).topics[0].partitions[0].offset)


def list_offsets(topic: str, timestamp: int, *, version: int = 7, partition: int = 0, leader_epoch: int = -1) -> Any:
    asked = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
        partition_index=partition, current_leader_epoch=leader_epoch, timestamp=timestamp
    )
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked])
    return ListOffsetsRequest(version=version, replica_id=-1, isolation_level=0, topics=[named], timeout_ms=10_000)
