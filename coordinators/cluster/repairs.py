"""A copy that fails its checks when it is opened, or its stage, is put aside and copied anew, if others have the
partition.

The order is what makes it safe: first the catalogue forgets that this node was in sync, then its copy goes. Otherwise
it could be elected with nothing. Where it is the only one in sync, it has what nobody else has: the node does not
start, and says why, as a broker by itself does.
"""

import logging
import os

from attrs import define, evolve

from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.cluster.rows import change_partition
from engine.catalogue.records import PartitionRecord
from engine.errors import StorageError
from engine.ids import TopicId
from engine.log.log import Log
from engine.log.recovery import STAGE
from engine.partition.aside import put_aside
from engine.partition.partition import Partition
from engine.partition.partitions import PartitionSpec

logger = logging.getLogger("tidegate.replicas")


@define(eq=False)
class Repairs:
    """See the module."""

    replicas: ReplicaManager

    async def begin_anew(self, spec: PartitionSpec, error: StorageError) -> Log:
        """An empty log in the place of the one that failed; raises the error where there is no other copy."""
        await self._leave_isr(spec.topic_id, spec.index, error)
        logger.error("%s-%d failed its checks and is copied anew from others: %s", spec.topic, spec.index, error)
        await self.replicas.in_thread(self._put_aside, spec.topic_id, str(spec.index))
        log: Log = await self.replicas.in_thread(self.replicas.partitions.new_log, spec)
        return log

    async def begin_stage_anew(self, partition: Partition, error: StorageError) -> None:
        """No stage in the place of the one that failed; raises the error where there is no other copy."""
        await self._leave_isr(partition.topic_id, partition.index, error)
        logger.error("the stage of %s failed its checks and is copied anew from others: %s", partition.log.name, error)
        await self.replicas.in_thread(self._put_stage_aside, partition)

    async def _leave_isr(self, topic_id: TopicId, index: int, error: StorageError) -> None:
        """Raise the error unless others have everything, and this node counts no more."""
        node_id = self.replicas.topics.node_id
        changed = await self.replicas.in_catalogue(
            change_partition, self.replicas.catalogue, topic_id, index, lambda row: without(row, node_id)
        )
        if changed is None:
            raise error

    def _put_aside(self, topic_id: TopicId, place: str) -> None:
        """[thread] What the journal holds of it goes too, or it would come back with the next start. If the disk has no
        room for saying so, whoever opens an empty log of which the journal knows something says it."""
        partitions = self.replicas.partitions
        directory = f"{partitions.directory(topic_id)}/{place}"
        parent, name = os.path.split(directory)
        put_aside(partitions.files, parent, name, partitions.clock.now_ms())
        partitions.forget_journaled(directory)

    def _put_stage_aside(self, partition: Partition) -> None:
        """[thread] The same for a stage. What the journal holds goes first, the partition's with it, which lies in its
        files since it was opened: nothing has changed if the disk is full."""
        partitions = self.replicas.partitions
        directory = partitions.directory(partition.topic_id, partition.index)
        partitions.forget_journaled(directory)
        put_aside(partitions.files, directory, STAGE, partitions.clock.now_ms())


def without(row: PartitionRecord, node: int) -> PartitionRecord | None:
    """The row once the node's copy is gone; None if it is the only one that counts."""
    if node not in (*row.isr, *row.elr, row.leader):
        return row
    isr, elr = (tuple(each for each in members if each != node) for members in (row.isr, row.elr))
    if not isr and not elr:
        return None
    is_leader = row.leader == node
    return evolve(
        row,
        isr=isr,
        elr=elr,
        leader=-1 if is_leader else row.leader,
        leader_epoch=row.leader_epoch + is_leader,
        partition_epoch=row.partition_epoch + 1,
    )
