"""Who holds a partition, who of those is in sync, and how far each of them has it durable.

A catalogue row names the replicas of a partition, its in-sync replicas (ISR) and its leader. What follows from it:

1. The high watermark is the least durable end over the *maximal* ISR: its members, and those about to join it, whose
   joining may already be committed without this node knowing. A member leaves only when a row says so.
2. It stands still while the ISR has fewer members than `min.insync.replicas` asks for (KIP-966), or than there are
   replicas where that asks for more; and while a row still names others that may be elected without being in sync
   (ELR), for they know nothing of what comes. It never goes back.
3. What replicas said to the leader of an earlier epoch does not count: they may have cut their logs since.
4. A row counts only if its epochs are newer than those that are known: a watch may lag behind.
5. A partition's log and its stage have one row and one epoch. Each counts the ends of its own; a replica may
   join only when it has caught up in both.

Where this node alone is the ISR its own durable end decides, and nothing of this is asked.
"""

from collections.abc import Collection
from enum import Enum

from engine.catalogue.records import PartitionRecord
from engine.errors import NotEnoughReplicas, NotLeader

THIS_NODE = -1
"""Stands for this node where there are no others to tell it from."""


class Role(Enum):
    """What a node is for a partition that lies on it."""

    LEADER = "leader"
    FOLLOWER = "follower"
    OFFLINE = "offline"
    """Its files failed; nothing is written until they are verified again."""


class Replicas:
    """A partition's row as this node sees it, and the durable ends that other replicas have told its leader."""

    __slots__ = ("_ends", "_joining", "decides_alone", "min_insync", "node_id", "not_leader", "row", "shortage")

    def __init__(self, node_id: int, row: PartitionRecord, min_insync: int = 1) -> None:
        self.node_id = node_id
        self.row = row
        self.min_insync = min_insync
        self.not_leader: NotLeader | None = None
        """Why clients are refused here, with who leads."""
        if row.leader != node_id:
            self.not_leader = not_led_here(row)
        self.decides_alone = False
        """Whether this node's own durable end is the high watermark."""
        self.shortage: NotEnoughReplicas | None = None
        """Why `acks=all` is refused."""
        self._ends: dict[int, int] = {}
        self._joining: frozenset[int] = frozenset()
        self._judge()

    @classmethod
    def alone(cls, leader_epoch: int = 0) -> "Replicas":
        """Of a partition that lies on this node only."""
        return cls(THIS_NODE, PartitionRecord((THIS_NODE,), (THIS_NODE,), THIS_NODE, leader_epoch))

    def twin(self) -> "Replicas":
        """The same for another log of the partition, which counts ends of its own."""
        twin = Replicas(self.node_id, self.row, self.min_insync)
        twin.let_join(self._joining)
        return twin

    @property
    def leads(self) -> bool:
        """Whether this node is the leader."""
        return self.not_leader is None

    def is_news(self, row: PartitionRecord) -> bool:
        """Whether a row is newer than the one that is known."""
        known = self.row
        return (row.leader_epoch, row.partition_epoch) > (known.leader_epoch, known.partition_epoch)

    def following(self, row: PartitionRecord) -> "Replicas":
        """The same partition under a newer row; within one leader epoch what replicas have told still holds."""
        after = Replicas(self.node_id, row, self.min_insync)
        if row.leader_epoch == self.row.leader_epoch:
            after._ends = self._ends
            # Who did not lead in this epoch, or does not any more, leads only in another.
            after.not_leader = after.not_leader or self.not_leader
            # Whoever was to join has joined, or the row says otherwise.
            after._joining = self._joining.difference(row.isr).intersection(row.replicas)
            after._judge()
        return after

    def ask_for(self, min_insync: int) -> None:
        """`min.insync.replicas` of the topic changed."""
        self.min_insync = min_insync
        self._judge()

    def let_join(self, nodes: Collection[int]) -> None:
        """These are proposed as members; until a row tells the outcome they count."""
        self._joining = frozenset(nodes)
        self._judge()

    def note_durable(self, node: int, end: int) -> None:
        """A replica has everything durable up to `end`."""
        assert node != self.node_id, "this node knows its own end"
        self._ends[node] = end

    def forget(self, node: int) -> None:
        """It begins anew: what it told does not count any more."""
        self._ends.pop(node, None)

    def durable_end(self, node: int) -> int | None:
        """As it told; None if it has not since this epoch began."""
        return self._ends.get(node)

    def least_end(self, own_end: int) -> int | None:
        """How far the high watermark may go if this node has `own_end` durable; None if it has to stand still."""
        if self.shortage is not None or self.row.elr:
            return None
        least = own_end
        for node in (*self.row.isr, *self._joining):
            if node != self.node_id:
                end = self._ends.get(node)
                if end is None:
                    return None
                least = min(least, end)
        return least

    def _judge(self) -> None:
        row = self.row
        needed = needed_in_sync(row, self.min_insync)
        self.shortage = None
        if len(row.isr) < needed:
            reason = (
                f"{len(row.isr)} of {len(row.replicas)} replicas are in sync, min.insync.replicas asks for {needed}"
            )
            self.shortage = NotEnoughReplicas(reason)
        members = self._joining.union(row.isr)
        stands_still = self.shortage is not None or bool(row.elr)
        self.decides_alone = self.leads and not stands_still and members == {self.node_id}


def needed_in_sync(row: PartitionRecord, min_insync: int) -> int:
    """How many members the ISR must have: `min.insync.replicas`, where there are so many replicas. As in Kafka, those
    that a reassignment is still bringing do not raise it. Who elects has to count the same, or it might elect somebody
    whom the high watermark has not waited for."""
    return min(min_insync, len(row.replicas) - len(row.adding))


def not_led_here(row: PartitionRecord) -> NotLeader:
    """The refusal of a partition that another node leads, or nobody."""
    reason = "the partition has no leader" if row.leader < 0 else f"node {row.leader} leads the partition"
    return NotLeader(reason, row.leader, row.leader_epoch)
