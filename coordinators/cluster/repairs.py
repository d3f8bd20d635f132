"""A copy that fails its checks when it is opened is put aside and copied anew, if others have the partition.

The order is what makes it safe: first the catalogue forgets that this node was in sync, then its copy goes. Otherwise
it could be elected with nothing. Where it is the only one in sync, it has what nobody else has: the node does not
start, and says why, as a broker by itself does.
"""

import logging

from attrs import define, evolve

from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.cluster.rows import change_partition
from engine.catalogue.records import PartitionRecord
from engine.errors import StorageError
from engine.log.log import Log
from engine.partition.aside import put_aside
from engine.partition.partitions import PartitionSpec

logger = logging.getLogger("tidegate.replicas")


@define(eq=False)
class Repairs:
    """See the module."""

    replicas: ReplicaManager

    async def begin_anew(self, spec: PartitionSpec, error: StorageError) -> Log:
        """An empty log in the place of the one that failed; raises the error where there is no other copy."""
        replicas, node_id = self.replicas, spec.replicas.node_id
        if not await self._leave_isr(spec, node_id):
            raise error
        partitions = replicas.partitions
        logger.error("%s-%d failed its checks and is copied anew from others: %s", spec.topic, spec.index, error)
        parent, now_ms = partitions.directory(spec.topic_id), partitions.clock.now_ms()
        await replicas.in_thread(put_aside, partitions.files, parent, str(spec.index), now_ms)
        log: Log = await replicas.in_thread(partitions.new_log, spec)
        return log

    async def _leave_isr(self, spec: PartitionSpec, node_id: int) -> bool:
        """Whether others are in sync, and this node is not any more."""
        changed = await self.replicas.in_catalogue(
            change_partition,
            self.replicas.catalogue,
            spec.topic_id,
            spec.index,
            lambda row: without(row, node_id),
        )
        return changed is not None


def without(row: PartitionRecord, node: int) -> PartitionRecord | None:
    """The row once the node's copy is gone; None if it is the only one that counts."""
    isr = tuple(each for each in row.isr if each != node)
    if not isr:
        return None
    elr = tuple(each for each in row.elr if each != node)
    if (isr, elr) == (row.isr, row.elr) and row.leader != node:
        return row
    is_leader = row.leader == node
    return evolve(
        row,
        isr=isr,
        elr=elr,
        leader=-1 if is_leader else row.leader,
        leader_epoch=row.leader_epoch + is_leader,
        partition_epoch=row.partition_epoch + 1,
    )
