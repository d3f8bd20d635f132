"""OffsetForLeaderEpoch (23), versions 2-4: where a leader epoch ended (KIP-320).

A consumer that changes leaders asks it to find out whether its position was truncated. An epoch that is
not known gives -1 and -1.
"""

from collections.abc import Coroutine
from functools import partial
from typing import Any

from coordinators.records.directory import PartitionDirectory
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from wire.kafka.request import Context
from wire.kafka.rights import CLUSTER_ACTION, DESCRIBE_TOPIC, Each, Rights, by_topic
from wire.kafka.slices import in_slices

KEY = 23
VERSIONS = (2, 4)
RIGHTS = Rights(
    Each(
        (DESCRIBE_TOPIC, CLUSTER_ACTION),
        "topics",
        by_topic,
        "topics",
        lambda topic, error: _denied(topic, error),
        OffsetForLeaderEpochResponse,
    )
)


def handle(
    request: OffsetForLeaderEpochRequest, context: Context, directory: PartitionDirectory
) -> OffsetForLeaderEpochResponse | Coroutine[Any, Any, OffsetForLeaderEpochResponse]:
    """Answer for each partition."""
    answer: OffsetForLeaderEpochResponse | Coroutine[Any, Any, OffsetForLeaderEpochResponse]
    answer = in_slices(request, context, partial(_ends, directory))
    return answer


def _ends(
    directory: PartitionDirectory, request: OffsetForLeaderEpochRequest, _: Context
) -> OffsetForLeaderEpochResponse:
    results = []
    for topic in request.topics:
        ends = [_end(topic.topic, wanted, directory) for wanted in topic.partitions]
        results.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
    return OffsetForLeaderEpochResponse(topics=results)


def _end(name: str, wanted: OffsetForLeaderPartition, directory: PartitionDirectory) -> EpochEndOffset:
    entry = EpochEndOffset(partition=wanted.partition)
    try:
        partition = directory.find(name, wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        entry.leader_epoch, entry.end_offset = partition.end_of_epoch(wanted.leader_epoch)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry


def _denied(topic: OffsetForLeaderTopic, error: BrokerError) -> OffsetForLeaderTopicResult:
    code = error_code(error)
    return OffsetForLeaderTopicResult(topic.topic, [EpochEndOffset(code, each.partition) for each in topic.partitions])
