"""DescribeProducers (61), version 0: which producers a partition remembers (KIP-664)."""

from functools import partial

from coordinators.records.directory import PartitionDirectory
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import READ_TOPIC, Each, Rights, by_name
from wire.kafka.steps import lazily

KEY = 61
VERSIONS = (0, 0)
RIGHTS = Rights(
    Each(
        READ_TOPIC,
        "topics",
        by_name,
        "topics",
        lambda topic, error: _denied(topic, error),
        DescribeProducersResponse,
    )
)


def handle(request: DescribeProducersRequest, _: Context, directory: PartitionDirectory) -> DescribeProducersResponse:
    """Answer for each partition, once where one is named twice."""
    wanted: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return DescribeProducersResponse(topics=lazily(wanted.items(), partial(_topic, directory)))


def _topic(directory: PartitionDirectory, wanted: tuple[str, dict[int, None]]) -> TopicResponse:
    name, indexes = wanted
    return TopicResponse(name=name, partitions=lazily(indexes, lambda index: _describe(name, index, directory)))


def _describe(name: str, index: int, directory: PartitionDirectory) -> PartitionResponse:
    entry = PartitionResponse(partition_index=index)
    try:
        partition = directory.find(name, index)
    except BrokerError as error:
        entry.error_code, entry.error_message = error_code(error), str(error)
        return entry
    entry.active_producers = [
        ProducerState(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.last_timestamp_ms,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=producer.transaction_start_offset,
        )
        for producer in partition.log.producers()
    ]
    return entry


def _denied(topic: TopicRequest, error: BrokerError) -> TopicResponse:
    code = error_code(error)
    entries = [PartitionResponse(index, code, str(error)) for index in topic.partition_indexes]
    return TopicResponse(name=topic.name, partitions=entries)
