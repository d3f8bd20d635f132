"""DeleteRecords (21), versions 0-2: forgets everything before an offset (KIP-107).

-1 stands for the high watermark. The answer comes once the new start is durable. In a prioritised partition what lies
beyond the log's end is put in order first; where the request's timeout does not leave the time for it, the partition is
answered with REQUEST_TIMED_OUT and keeps its start, and asking again goes on from there.
"""

from collections.abc import Coroutine
from functools import partial
from typing import Any

import trio

from coordinators.records.deleting import Deleting
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)
from wire.kafka.request import Context
from wire.kafka.rights import DELETE_TOPIC, Each, Rights, by_name
from wire.kafka.slices import in_slices

KEY = 21
VERSIONS = (0, 2)
RIGHTS = Rights(
    Each(
        DELETE_TOPIC,
        "topics",
        by_name,
        "topics",
        lambda topic, error: _denied(topic, error),
        DeleteRecordsResponse,
    )
)

HIGH_WATERMARK = -1


def handle(
    request: DeleteRecordsRequest, context: Context, deleting: Deleting
) -> Coroutine[Any, Any, DeleteRecordsResponse]:
    """Raise the start of each partition."""
    deadline = trio.current_time() + max(request.timeout_ms, 0) / 1000
    answer: Coroutine[Any, Any, DeleteRecordsResponse] = in_slices(
        request, context, partial(_delete_all, deadline, deleting)
    )
    return answer


async def _delete_all(
    deadline: float, deleting: Deleting, request: DeleteRecordsRequest, _: Context
) -> DeleteRecordsResponse:
    topics = []
    for topic in request.topics:
        results = [await _delete(topic.name, wanted, deadline, deleting) for wanted in topic.partitions]
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    return DeleteRecordsResponse(topics=topics)


async def _delete(
    name: str, wanted: DeleteRecordsPartition, deadline: float, deleting: Deleting
) -> DeleteRecordsPartitionResult:
    entry = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
    upto = None if wanted.offset == HIGH_WATERMARK else wanted.offset
    try:
        entry.low_watermark = await deleting.delete(name, wanted.partition_index, upto, deadline)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry


def _denied(topic: DeleteRecordsTopic, error: BrokerError) -> DeleteRecordsTopicResult:
    code = error_code(error)
    entries = [
        DeleteRecordsPartitionResult(partition_index=each.partition_index, low_watermark=-1, error_code=code)
        for each in topic.partitions
    ]
    return DeleteRecordsTopicResult(name=topic.name, partitions=entries)
