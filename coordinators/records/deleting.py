"""Deleting: a partition forgets everything before an offset (KIP-107).

The new start is durable before it is told. In a prioritised partition what lies beyond the log's end is put in order
first; where the deadline does not leave the time for that, the partition keeps its start, and asking again goes on from
there.
"""

import trio

from coordinators.records.directory import PartitionDirectory
from coordinators.waiting import result_of
from engine.errors import PolicyViolation


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
        deleted = partition.delete_records(partition.reported_end if upto is None else upto)
        with trio.move_on_at(deadline):
            return await result_of(deleted)
        deleted.abandon()
        # What has begun is waited for.
        return await result_of(deleted)
