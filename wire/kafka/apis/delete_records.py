"""DeleteRecords (21), versions 0-2: forgets everything before an offset (KIP-107).

-1 stands for the high watermark. The answer comes once the new start is durable. In a prioritised partition what lies
beyond the log's end is put in order first; where the request's timeout does not leave the time for it, the partition is
answered with REQUEST_TIMED_OUT and keeps its start, and asking again goes on from there.
"""

from collections.abc import Coroutine
from functools import partial
from typing import Any

import trio

from coordinators.records.directory import PartitionDirectory
from engine.errors import BrokerError, OffsetOutOfRange, PolicyViolation, RequestTimedOut, StorageError
from engine.log.deletion import deletion_jobs
from engine.partition.partition import Partition
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from wire.kafka.request import Context
from wire.kafka.slices import in_slices

KEY = 21
VERSIONS = (0, 2)

HIGH_WATERMARK = -1


def handle(
    request: DeleteRecordsRequest, context: Context, directory: PartitionDirectory
) -> Coroutine[Any, Any, DeleteRecordsResponse]:
    """Raise the start of each partition."""
    deadline = trio.current_time() + max(request.timeout_ms, 0) / 1000
    answer: Coroutine[Any, Any, DeleteRecordsResponse] = in_slices(
        request, context, partial(_delete_all, deadline, directory)
    )
    return answer


async def _delete_all(
    deadline: float, directory: PartitionDirectory, request: DeleteRecordsRequest, _: Context
) -> DeleteRecordsResponse:
    topics = []
    for topic in request.topics:
        results = [await _delete(topic.name, wanted, deadline, directory) for wanted in topic.partitions]
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    return DeleteRecordsResponse(topics=topics)


async def _delete(
    name: str, wanted: DeleteRecordsPartition, deadline: float, directory: PartitionDirectory
) -> DeleteRecordsPartitionResult:
    entry = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=-1)
    try:
        topic = directory.topic(name)
        partition = directory.partition(topic, wanted.partition_index)
        policy = topic.config["cleanup.policy"]
        if isinstance(policy, tuple) and "delete" not in policy:
            raise PolicyViolation(f"records of topic {name!r} cannot be deleted: its cleanup.policy is compact")
        entry.low_watermark = await _raise_start(partition, wanted.offset, deadline, directory)
    except BrokerError as error:
        entry.error_code = error_code(error)
    return entry


async def _raise_start(partition: Partition, offset: int, deadline: float, directory: PartitionDirectory) -> int:
    end = partition.reported_end
    target = end if offset == HIGH_WATERMARK else offset
    if not 0 <= target <= end:
        raise OffsetOutOfRange(f"offset {target} is not between 0 and the high watermark {end}")
    if target > partition.high_watermark.offset:
        await _until_in_order(partition, target, deadline)
    if target > partition.log.start_offset:
        jobs, done = deletion_jobs(partition.log, target), trio.Event()
        directory.partitions.run_jobs(partition, jobs, done.set)
        await done.wait()
        if jobs[-1].error is not None:
            raise StorageError(f"the new start could not be written: {jobs[-1].error}")
    return partition.log.start_offset


async def _until_in_order(partition: Partition, target: int, deadline: float) -> None:
    """Wait until what was promised below `target` is in the log."""
    moved = trio.Event()

    def look(_added_bytes: int) -> None:
        if partition.high_watermark.offset >= target or partition.removed:
            moved.set()

    partition.watch(look)
    try:
        with trio.move_on_at(deadline):
            partition.staged.order_up_to(target)
            await moved.wait()
    finally:
        partition.unwatch(look)
    if partition.high_watermark.offset < target:
        raise partition.offline or RequestTimedOut(
            f"the records below offset {target} could not be put in order in time"
        )
