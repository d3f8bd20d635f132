"""OffsetForLeaderEpoch (23), versions 2-4: where a leader epoch ended (KIP-320).

A consumer that changes leaders asks it to find out whether its position was truncated. An epoch that is
not known gives -1 and -1.
"""

from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from wire.kafka.request import Context

KEY = 23
VERSIONS = (2, 4)


def handle(request: OffsetForLeaderEpochRequest, context: Context) -> OffsetForLeaderEpochResponse:
    """Answer for each partition."""
    results = []
    for topic in request.topics:
        ends = [_end(topic.topic, wanted, context) for wanted in topic.partitions]
        results.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
    return OffsetForLeaderEpochResponse(topics=results)


def _end(name: str, wanted: OffsetForLeaderPartition, context: Context) -> EpochEndOffset:
    node = context.node
    entry = EpochEndOffset(partition=wanted.partition)
    try:
        partition = node.partition(node.topic(name, b"", by_id=False), wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        entry.leader_epoch, entry.end_offset = partition.end_of_epoch(wanted.leader_epoch)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry
