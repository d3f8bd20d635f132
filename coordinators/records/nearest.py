"""Reading from the nearest replica (KIP-392): a consumer that says where it stands is sent to a follower there.

The leader names the follower and gives no records; the consumer asks that one from then on, and comes back to the
leader when it cannot help. A follower gives what is below its own high watermark, which follows the leader's.
"""

from attrs import define

from coordinators.cluster.nodes import Nodes
from engine.partition.partition import Partition

THE_LEADER = -1


@define(eq=False)
class NearestReplicas:
    """Chooses by racks."""

    nodes: Nodes
    is_enabled: bool

    def of(self, partition: Partition, rack: str, offset: int) -> int:
        """The node to read from; below 0, there is none better than the leader."""
        row = partition.replicas.row
        if not self.is_enabled or len(row.isr) < 2 or self._rack(row.leader) == rack:
            return THE_LEADER
        if partition.has_promises:
            # Only a leader can put in order what nobody has read yet.
            return THE_LEADER
        for node in row.isr:
            end = partition.replicas.durable_end(node) if node != row.leader else None
            if end is not None and end >= offset and self._rack(node) == rack:
                return node
        return THE_LEADER

    def _rack(self, node_id: int) -> str | None:
        record = self.nodes.by_id.get(node_id)
        return None if record is None else record.rack
