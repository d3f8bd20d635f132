"""How far behind followers are, as the leader of a partition sees it: in records, in bytes, and in time.

A follower counts as far as it has everything durable. Records and bytes are those of the log and of the stage together;
bytes are reckoned from the sizes of segments, nothing is read for them.
"""

from collections.abc import Iterator
from typing import Protocol

from attrs import define, frozen

from coordinators.replication.ports import Replica
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions


class FollowerProgress(Protocol):
    """What a leader knows of its followers (coordinators/replication/in_sync.py)."""

    def told_end(self, replica: Replica, node_id: int) -> int | None:
        """Up to where a follower has a log durable; None if it has not told."""
        ...

    def lag_s(self, partition: Partition, node_id: int) -> float:
        """For how long a follower has been behind, or silent."""
        ...


@frozen
class ReplicaLag:
    """One follower of one partition."""

    node_id: int
    is_in_sync: bool
    end_offset: int | None
    """Up to here it has the log durable; None if it has not told since this leader began."""
    stage_end_offset: int | None
    """The same of the stage; None also where there is none."""
    records: int
    size_bytes: int
    seconds: float


@define
class NodeLag:
    """One follower node over all partitions that are led here."""

    node_id: int
    records: int = 0
    size_bytes: int = 0
    seconds: float = 0.0
    """Of the partition where that is most."""
    partitions: int = 0
    """Where it is behind."""


@define(eq=False)
class ReplicaLags:
    """See the module."""

    partitions: Partitions
    in_sync: FollowerProgress | None = None
    """None where a node is alone: nobody follows it."""

    def of(self, partition: Partition) -> list[ReplicaLag]:
        """Of all followers of a partition that this node leads, in the order of its replicas."""
        if self.in_sync is None or not partition.replicas.leads:
            return []
        row = partition.replicas.row
        return [self._lag(self.in_sync, partition, node_id) for node_id in row.replicas if node_id != row.leader]

    def _lag(self, in_sync: FollowerProgress, partition: Partition, node_id: int) -> ReplicaLag:
        ends: dict[bool, int | None] = {False: None, True: None}
        records = size_bytes = 0
        for log in partition.logs:
            is_stage = log is not partition
            ends[is_stage] = end = in_sync.told_end(Replica(partition.topic_id, partition.index, is_stage), node_id)
            behind, size = _behind(log, end)
            records, size_bytes = records + behind, size_bytes + size
        seconds = in_sync.lag_s(partition, node_id)
        is_in_sync = node_id in partition.replicas.row.isr
        return ReplicaLag(node_id, is_in_sync, ends[False], ends[True], records, size_bytes, seconds)

    def by_node(self) -> Iterator[dict[int, NodeLag] | None]:
        """Of every node that follows something here: they come last; None before is a moment for others."""
        nodes: dict[int, NodeLag] = {}
        for topic_id in self.partitions.topic_ids():
            for partition in self.partitions.of_topic(topic_id):
                for lag in self.of(partition):
                    node = nodes.setdefault(lag.node_id, NodeLag(lag.node_id))
                    node.records += lag.records
                    node.size_bytes += lag.size_bytes
                    node.seconds = max(node.seconds, lag.seconds)
                    node.partitions += bool(lag.records)
            yield None
        yield nodes


def _behind(log: DurableLog, end: int | None) -> tuple[int, int]:
    start = log.log.start_offset if end is None else max(end, log.log.start_offset)
    records = max(log.log.end_offset - start, 0)
    return records, log.log.size_from(start) if records else 0
