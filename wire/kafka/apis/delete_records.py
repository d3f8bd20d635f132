"""DeleteRecords (21), versions 0-2: forgets everything before an offset (KIP-107).

-1 stands for the high watermark. The answer comes once the new start is durable. In a prioritised partition what lies
beyond the log's end is put in order first.
"""

import trio

from engine.errors import BrokerError, OffsetOutOfRange, PolicyViolation, StorageError
from engine.partition import Partition
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from wire.kafka.request import Context

KEY = 21
VERSIONS = (0, 2)

HIGH_WATERMARK = -1
ORDER_CHECK_S = 0.001


async def handle(request: DeleteRecordsRequest, context: Context) -> DeleteRecordsResponse:
    """Raise the start of each partition."""
    topics = []
    for topic in request.topics:
        results = [await _delete(topic.name, wanted, context) for wanted in topic.partitions]
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    return DeleteRecordsResponse(topics=topics)


async def _delete(name: str, wanted: DeleteRecordsPartition, context: Context) -> DeleteRecordsPartitionResult:
    node = context.node
    entry = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
    try:
        topic = node.topic(name, b"", by_id=False)
        partition = node.partition(topic, wanted.partition_index)
        policy = topic.config["cleanup.policy"]
        if isinstance(policy, tuple) and "delete" not in policy:
            raise PolicyViolation(f"records of topic {name!r} cannot be deleted: its cleanup.policy is compact")
        entry.low_watermark = await _raise_start(partition, wanted.offset, context)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry


async def _raise_start(partition: Partition, offset: int, context: Context) -> int:
    end = partition.reported_end
    target = end if offset == HIGH_WATERMARK else offset
    if not 0 <= target <= end:
        raise OffsetOutOfRange(f"offset {target} is not between 0 and the high watermark {end}")
    while target > partition.high_watermark.offset:
        if not partition.staged.linearise(target, context.node.limits.max_fetch_bytes):
            raise OffsetOutOfRange(f"offset {target} is not between 0 and the high watermark {end}")
        await trio.sleep(ORDER_CHECK_S)
    if target > partition.log.start_offset:
        job = partition.log.delete_records_job(target)
        with trio.CancelScope(shield=True):
            await context.node.in_thread(job.run)
            job.finish()
        if job.error is not None:
            raise StorageError(f"the new start could not be written: {job.error}")
    return partition.log.start_offset
