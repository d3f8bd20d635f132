"""A leader whose log failed withdraws: it may neither lead nor be in sync until it was made whole again.

A log goes offline when a write or a sync failed, and comes back by itself when its end was verified. Where others are
in sync, one of them leads meanwhile; this node follows it, and is taken back once it has caught up. If its end was
lost, it leads nothing until an election has given it a new epoch, or another the lead: followers may have what it lost.
The same goes for who was elected and cannot begin to lead, because its stage is damaged or its disk is full, so that
it could not even open its log.
"""

import logging

import trio
from attrs import define, field

from coordinators.cluster.leader_elections import LeaderElections
from coordinators.cluster.opening import PartitionKey
from coordinators.cluster.replica_manager import ReplicaManager
from engine.errors import BrokerError
from engine.partition.partition import Partition

logger = logging.getLogger("tidegate.elections")

CHECK_S = 0.5
PATIENCE_S = 1.5
"""So long a log may be offline before another is asked to lead: its end is verified after a second."""


@define(eq=False)
class Withdrawals:
    """See the module."""

    replicas: ReplicaManager
    elections: LeaderElections
    count: int = field(default=0, init=False)
    _offline_since: dict[PartitionKey, float] = field(factory=dict, init=False)

    async def run(self) -> None:
        """As long as the node serves."""
        while True:
            await trio.sleep(CHECK_S)
            for key in self._due():
                try:
                    await self._withdraw(key)
                except BrokerError as error:
                    logger.warning("a leader that has failed cannot withdraw yet, tried again: %s", error)

    def _due(self) -> list[PartitionKey]:
        """Those that have been offline for a while, and that others could lead."""
        now = trio.current_time()
        failed = {
            (each.topic_id, each.index)
            for each in self.replicas.partitions
            if each.replicas.leads
            and len(each.replicas.row.isr) > 1
            and any(log.offline is not None for log in each.logs)
        }
        self._offline_since = {key: self._offline_since.get(key, now) for key in failed}
        late = [key for key, since in self._offline_since.items() if now - since >= PATIENCE_S]
        unable = [
            key for key, since in self.replicas.unable.items() if now - since >= PATIENCE_S and self._has_others(key)
        ]
        lost = [(each.topic_id, each.index) for each in self.replicas.partitions if has_lost_end(each)]
        return [*late, *unable, *lost]

    def _has_others(self, key: PartitionKey) -> bool:
        """Whether others are in sync, by the row that this node could not put in force."""
        topic = self.replicas.topics.by_id.get(key[0])
        return topic is not None and len(topic.partitions[key[1]].isr) > 1

    async def _withdraw(self, key: PartitionKey) -> None:
        node_id = self.replicas.topics.node_id
        topic, partition = self.replicas.topics.by_id.get(key[0]), self.replicas.partitions.get(*key)
        if topic is None or (partition is None and key not in self.replicas.unable):
            return
        why = "its log cannot be opened" if partition is None else "its log has failed"
        logger.warning("%s-%d: this node withdraws, %s", topic.name, key[1], why)
        self.count += 1
        await self.elections.withdraw(key, node_id, renews=partition is not None and has_lost_end(partition))


def has_lost_end(partition: Partition) -> bool:
    """Whether a log of it has lost its end in this epoch: the same offsets must not be given out twice in one."""
    return any(log.lost_end for log in partition.logs)
