"""ListOffsets (2), versions 1-11: where a partition begins, ends, or stood at a time.

Special times: -1 latest (the high watermark, or the last stable offset under read_committed), -2 earliest,
-3 the record with the greatest timestamp (KIP-734), -4 the earliest offset on local disk (KIP-405; the same as
-2 here), -5 the latest tiered offset and -6 the earliest not yet tiered one (nothing is tiered: -1 and the
start). A time gives the first record at or after it: the record, not its batch; no match is offset -1.
In a prioritised partition the latest offset counts the records that are ready and not yet in the log.
A producer with acks=1 finds what it wrote: records that are written and not yet durable are waited for.
"""

from collections import Counter
from collections.abc import Coroutine, Mapping
from typing import Any

from engine.errors import BrokerError, InvalidRequest, UnsupportedVersion
from engine.partition import Partition
from wire.kafka.errors import error_code
from wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from wire.kafka.request import Context

KEY = 2
VERSIONS = (1, 11)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
_FIRST_VERSION_OF = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
FROM_THE_START = (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD)
READ_COMMITTED = 1


def handle(
    request: ListOffsetsRequest, context: Context
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    """Answer from memory where that is possible; wait for syncs and look times up in a thread where not."""
    if any(_needs_search(partition) for topic in request.topics for partition in topic.partitions):
        return _search(request, context)
    if _unsynced(request, context):
        return _search(request, context)
    topics = [_topic(topic, request, context, _ends(topic, context)) for topic in request.topics]
    return ListOffsetsResponse(topics=topics)


def _ends(topic: ListOffsetsTopic, context: Context) -> dict[int, int]:
    """The ends that readers are told, asked on the loop: what a stage promises is not for threads to look at."""
    known = context.node.topics.by_name.get(topic.name)
    partitions = context.node.partitions.of_topic(known.topic_id) if known is not None else []
    indexes = {wanted.partition_index for wanted in topic.partitions}
    return {index: partitions[index].reported_end for index in indexes if 0 <= index < len(partitions)}


def _needs_search(wanted: ListOffsetsPartition) -> bool:
    return wanted.timestamp >= 0 or wanted.timestamp == MAX_TIMESTAMP


def _unsynced(request: ListOffsetsRequest, context: Context) -> list[Partition]:
    """Partitions with records that were acknowledged (acks=0 or 1) and are not durable yet."""
    node = context.node
    found = []
    for topic in request.topics:
        known = node.topics.by_name.get(topic.name)
        for wanted in topic.partitions if known is not None else ():
            assert known is not None
            partition = node.partitions.get(known.topic_id, wanted.partition_index)
            if partition is None or wanted.timestamp in FROM_THE_START:
                continue
            stores = [partition] if partition.staged is None else [partition, partition.staged.store]
            found += [store for store in stores if store.has_unsynced]
    return found


async def _search(request: ListOffsetsRequest, context: Context) -> ListOffsetsResponse:
    for partition in _unsynced(request, context):
        await context.node.until_durable(partition)
    response = ListOffsetsResponse()
    for topic in request.topics:
        response.topics.append(await context.node.in_thread(_topic, topic, request, context, _ends(topic, context)))
    return response


def _topic(
    topic: ListOffsetsTopic, request: ListOffsetsRequest, context: Context, ends: Mapping[int, int]
) -> ListOffsetsTopicResponse:
    times = Counter(wanted.partition_index for wanted in topic.partitions)
    entries = [
        _answer(topic.name, wanted, request, context, ends, repeated=times[wanted.partition_index] > 1)
        for wanted in topic.partitions
    ]
    return ListOffsetsTopicResponse(name=topic.name, partitions=entries)


def _answer(
    name: str,
    wanted: ListOffsetsPartition,
    request: ListOffsetsRequest,
    context: Context,
    ends: Mapping[int, int],
    *,
    repeated: bool,
) -> ListOffsetsPartitionResponse:
    entry = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    try:
        node = context.node
        if repeated:
            raise InvalidRequest(f"partition {wanted.partition_index} of {name!r} is asked for twice")
        partition = node.partition(node.topic(name, b"", by_id=False), wanted.partition_index)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        if context.version < _FIRST_VERSION_OF.get(wanted.timestamp, 0):
            raise UnsupportedVersion(f"time {wanted.timestamp} is not known in version {context.version}")
        end = ends.get(wanted.partition_index, partition.high_watermark.offset)
        _look_up(partition, end, wanted.timestamp, request.isolation_level == READ_COMMITTED, entry)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry


def _look_up(
    partition: Partition, promised: int, timestamp: int, committed: bool, entry: ListOffsetsPartitionResponse
) -> None:
    log, upto = partition.log, partition.stable_end if committed else partition.high_watermark
    if timestamp == LATEST:
        is_stable = upto.offset == partition.high_watermark.offset
        entry.offset = promised if is_stable else upto.offset
        # What is promised beyond the log's end has no epoch yet: clients that compare would see a truncation.
        entry.leader_epoch = partition.leader_epoch if entry.offset <= log.end_offset else -1
    elif timestamp in (EARLIEST, EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD):
        entry.offset = log.start_offset
        entry.leader_epoch = log.epoch_at(log.start_offset)
    elif timestamp == MAX_TIMESTAMP or timestamp >= 0:
        found = log.find_max_timestamp(upto) if timestamp < 0 else log.find_by_time(timestamp, upto)
        if found is not None:
            entry.offset, entry.timestamp = found.offset, found.timestamp_ms
            entry.leader_epoch = found.leader_epoch
        elif timestamp >= 0 and partition.staged is not None:
            ready_ms = partition.staged.stage.find_ready(timestamp)
            if ready_ms is not None:
                # It has no place yet; from the log's end on it will be met.
                entry.offset, entry.timestamp = log.end_offset, ready_ms
    elif timestamp != LATEST_TIERED:
        raise UnsupportedVersion(f"time {timestamp} has no meaning")
