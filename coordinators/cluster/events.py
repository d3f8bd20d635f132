"""What has happened to the cluster lately, as this node has seen it: nodes that came and went, controllers, leaders.

Everything is read from the rows of the catalogue, so every node tells the same, but for what happened before it came.
Leaders have a ring of their own: a node that goes may move thousands of them, and what became of nodes must stay to be
seen. Nothing of it is kept over a restart.
"""

from collections import deque
from collections.abc import Iterator
from heapq import merge
from itertools import count

from attrs import define, field, frozen

from coordinators.cluster.elections import NO_LEADER, ElectionKind, preferred_leader
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.topic_view import TopicUpdate
from engine.catalogue.records import ControllerRecord, NodeRecord, PartitionRecord
from engine.clock import Clock

KEPT_OF_NODES = 500
KEPT_OF_LEADERS = 500


@frozen
class ClusterEvent:
    """What happened: registered, entered, stopping, gone, controller, or of a partition leader, leaderless."""

    number: int
    """Counts the events of this node's life: in their order."""
    at_ms: int
    what: str
    node_id: int
    """Whom it happened to; -1 is nobody."""
    detail: str
    topic: str | None = None
    partition: int | None = None


@define(eq=False)
class ClusterEvents:
    """See the module. Listens from the start."""

    replicas: ReplicaManager
    clock: Clock
    _of_nodes: deque[ClusterEvent] = field(factory=lambda: deque(maxlen=KEPT_OF_NODES), init=False)
    _of_leaders: deque[ClusterEvent] = field(factory=lambda: deque(maxlen=KEPT_OF_LEADERS), init=False)
    _numbers: Iterator[int] = field(factory=lambda: count(1), init=False)
    _known: dict[int, NodeRecord] = field(factory=dict, init=False)
    _controller: ControllerRecord | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._known = dict(self.replicas.nodes.by_id)
        self._controller = self.replicas.nodes.present_controller
        self.replicas.on_nodes.append(self._nodes_changed)
        self.replicas.on_change.append(self._topic_changed)

    def latest(self) -> list[ClusterEvent]:
        """Those that are kept, the last one first."""
        return list(merge(self._of_nodes, self._of_leaders, key=lambda event: event.number))[::-1]

    # -- nodes

    def _nodes_changed(self) -> None:
        nodes = self.replicas.nodes
        for node_id in sorted({*self._known, *nodes.by_id}):
            before, after = self._known.get(node_id), nodes.by_id.get(node_id)
            if before != after:
                self._node_changed(node_id, before, after)
        self._known = dict(nodes.by_id)
        if nodes.present_controller != self._controller:
            self._controller = nodes.present_controller
            if self._controller is None:
                self._tell("controller", -1, "there is no controller")
            else:
                self._tell("controller", self._controller.node_id, f"epoch {self._controller.epoch}")

    def _node_changed(self, node_id: int, before: NodeRecord | None, after: NodeRecord | None) -> None:
        if after is None:
            self._tell(
                "gone", node_id, "it was stopping" if before is not None and before.stopping else "its session ended"
            )
            return
        if before is None or before.incarnation != after.incarnation:
            self._tell("registered", node_id, f"at {', '.join(after.listeners)}")
            before = None
        if not after.fenced and (before is None or before.fenced):
            self._tell("entered", node_id, f"epoch {after.epoch}")
        if after.stopping and (before is None or not before.stopping):
            self._tell("stopping", node_id, "others take over what it leads")

    def _tell(self, what: str, node_id: int, detail: str) -> None:
        self._of_nodes.append(ClusterEvent(next(self._numbers), self.clock.now_ms(), what, node_id, detail))

    # -- leaders

    def _topic_changed(self, update: TopicUpdate) -> None:
        before, after = update.before, update.after
        if before is None or after is None or before.partitions is after.partitions:
            return
        for index, (old, new) in enumerate(zip(before.partitions, after.partitions, strict=False)):
            if old.leader != new.leader:
                what = "leader" if new.leader != NO_LEADER else "leaderless"
                event = ClusterEvent(
                    next(self._numbers), self.clock.now_ms(), what, new.leader, _election(old, new), after.name, index
                )
                self._of_leaders.append(event)


def _election(old: PartitionRecord, new: PartitionRecord) -> str:
    if new.leader == NO_LEADER:
        return f"node {old.leader} led before; none of the replicas in sync may lead"
    kind = _kind(old, new).value
    whom = "there was no leader" if old.leader == NO_LEADER else f"node {old.leader} led before"
    return f"{kind} election, epoch {new.leader_epoch}; {whom}"


def _kind(old: PartitionRecord, new: PartitionRecord) -> ElectionKind:
    """As far as the rows tell it."""
    if new.leader in old.isr:
        is_by_choice = old.leader in new.isr and new.leader == preferred_leader(new)
        return ElectionKind.PREFERRED if is_by_choice else ElectionKind.CLEAN
    return ElectionKind.ELIGIBLE if new.leader in old.elr else ElectionKind.UNCLEAN
