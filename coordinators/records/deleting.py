"""Deleting: a partition forgets everything before an offset (KIP-107).

The new start is durable before it is told. In a prioritised partition what lies beyond the log's end is put in order
first; where the deadline does not leave the time for that, the partition keeps its start, and asking again goes on from
there.
"""

import trio

from coordinators.records.directory import PartitionDirectory
from engine.errors import OffsetOutOfRange, PolicyViolation, RequestTimedOut, StorageError
from engine.log.deletion import deletion_jobs
from engine.partition.partition import Partition


class Deleting:
    """The use case: one for all doors."""

    def __init__(self, directory: PartitionDirectory) -> None:
        self._directory = directory

    async def delete(self, topic: str, index: int, upto: int | None, deadline: float) -> int:
        """Forget what lies before `upto`, or before the end where it is None; the partition's start after that.

        `deadline` is one of trio's times."""
        known = self._directory.topic(topic)
        partition = self._directory.partition(known, index)
        policy = known.config["cleanup.policy"]
        if isinstance(policy, tuple) and "delete" not in policy:
            raise PolicyViolation(f"records of topic {topic!r} cannot be deleted: its cleanup.policy is compact")
        end = partition.reported_end
        target = end if upto is None else upto
        if not 0 <= target <= end:
            raise OffsetOutOfRange(f"offset {target} is not between 0 and the high watermark {end}")
        if target > partition.high_watermark.offset:
            await _until_in_order(partition, target, deadline)
        if target > partition.log.start_offset:
            await self._raise_start(partition, target)
        return partition.log.start_offset

    async def _raise_start(self, partition: Partition, offset: int) -> None:
        jobs, done = deletion_jobs(partition.log, offset), trio.Event()
        self._directory.partitions.run_jobs(partition, jobs, done.set)
        await done.wait()
        if jobs[-1].error is not None:
            raise StorageError(f"the new start could not be written: {jobs[-1].error}")


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
