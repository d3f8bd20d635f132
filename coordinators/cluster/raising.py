"""Topics of the broker's own get more replicas when more nodes come: nobody chose how many they have.

A topic that is made while there are fewer nodes than a default asks for gets fewer replicas (ADR 0037). With topics of
users that stays so until somebody changes it: it may be meant. The topics of coordinators are made by the first client
that comes, which may be earlier than the second node, and offsets and transactions would go with the first. So the
controller has them moved, by a reassignment like any other, as far as nobody has set their number.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import define

from coordinators.cluster.elections import NO_LEADER
from coordinators.cluster.placement import extend
from coordinators.cluster.reassignments import begin, is_moving, target_of
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.cluster.rows import PartitionRow, change_partitions, read_nodes, read_rows
from coordinators.topic_view import Topic
from engine.catalogue.records import NodeRecord, PartitionRecord

logger = logging.getLogger("tidegate.controller")


@define(eq=False)
class FactorRaising:
    """See the module."""

    replicas: ReplicaManager
    wanted: Callable[[], Mapping[str, int]]
    """How many replicas the topics should have of which nobody has said so, by name."""

    async def look(self) -> None:
        """Begin what is to be done; the controller takes the further steps as of any reassignment."""
        nodes = [node for node in self.replicas.nodes.by_id.values() if node.is_eligible]
        for name, wanted in self.wanted().items():
            topic = self.replicas.topics.by_name.get(name)
            factor = min(wanted, len(nodes))
            if topic is not None and any(_lacks(row, factor) for row in topic.partitions):
                logger.info("%s gets %d replicas", name, factor)
                await self.replicas.in_catalogue(self._raise, topic, wanted)

    def _raise(self, topic: Topic, wanted: int) -> None:
        """[thread]"""
        catalogue = self.replicas.catalogue
        nodes = [node for node in read_nodes(catalogue) if node.is_eligible]
        factor = min(wanted, len(nodes))
        held: list[PartitionRecord] = []

        def read() -> Sequence[PartitionRow]:
            rows = read_rows(catalogue, topic.topic_id)
            held[:] = [row.record for row in rows]
            return rows

        change_partitions(catalogue, read, partial(_raised, nodes=nodes, factor=factor, held=held))


def _lacks(row: PartitionRecord, factor: int) -> bool:
    return not is_moving(row) and row.leader != NO_LEADER and len(row.replicas) < factor


def _raised(
    row: PartitionRow, *, nodes: Sequence[NodeRecord], factor: int, held: list[PartitionRecord]
) -> PartitionRecord | None:
    if not _lacks(row.record, factor):
        return None
    raised = begin(row.record, extend(target_of(row.record), nodes, factor, held), {node.node_id for node in nodes})
    # The next one counts what this one gets.
    held.append(raised)
    return raised
