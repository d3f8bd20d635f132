"""The nodes of the cluster, as their rows in the catalogue tell them; and which of them this one is."""

from collections.abc import Collection, Iterable

from attrs import define, field, frozen

from coordinators.cluster.news import News, read_whole
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import CONTROLLER, NODES, ControllerRecord, NodeRecord


@frozen
class NodeIdentity:
    """This node: its number, the cluster that it belongs to, and where it stands."""

    node_id: int
    cluster_id: str
    rack: str | None


TOLD_S = 9.0
"""So long clients are still told of a node that serves no more: as long as a session lasts in Kafka, by default."""


RECONNECT_S = 12.0
"""A client that could not reach a node may wait so long before it tries again: 10 s are librdkafka's default
(`reconnect.backoff.max.ms`), and it goes on with what is left of them though the node is back and leads."""


@frozen
class LeftNode:
    """A node that served until a moment ago."""

    record: NodeRecord
    until_s: float
    """By the monotonic clock."""


@define(eq=False)
class Nodes:
    """Nodes by id. Only the event loop touches it."""

    by_id: dict[int, NodeRecord] = field(factory=dict)
    controller: ControllerRecord | None = field(default=None, init=False)
    """Who reacts to what happens to nodes; nobody for a moment, or where there is one node only."""
    controller_revision: int = field(default=0, init=False)
    """Of the row that tells it; 0 if there is none."""
    _left: dict[int, LeftNode] = field(factory=dict, init=False)
    _came_at: dict[int, float] = field(factory=dict, init=False)
    """By the monotonic clock, of those that came while this node watched."""

    @classmethod
    def load(cls, catalogue: Catalogue) -> "Nodes":
        """[thread] As they are now; later rows come with the news."""
        nodes = cls()
        revision, entries = catalogue.entries(NODES)
        controller = catalogue.get(CONTROLLER)
        nodes.take(read_whole(revision, [*entries, *([] if controller is None else [controller])]), -RECONNECT_S)
        return nodes

    @property
    def present_controller(self) -> ControllerRecord | None:
        """The controller, if its node is here in that very life."""
        controller = self.controller
        node = None if controller is None else self.by_id.get(controller.node_id)
        return controller if node is not None and controller is not None and node.epoch == controller.epoch else None

    @property
    def serving(self) -> Collection[int]:
        """The nodes that are here and have caught up; such as are about to stop too."""
        return {node_id for node_id, record in self.by_id.items() if not record.fenced}

    def left_lately(self, now_s: float) -> Iterable[NodeRecord]:
        """The nodes that do not serve and did until a moment ago, as they were then or are about to come back."""
        return [left.record for left in self._left.values() if now_s < left.until_s]

    def came_lately(self, now_s: float) -> Collection[int]:
        """The nodes that clients may not have found again yet."""
        return [node_id for node_id, at_s in self._came_at.items() if now_s - at_s < RECONNECT_S]

    def take(self, news: News, now_s: float) -> None:
        """What a revision of the catalogue changed, by the monotonic clock now."""
        for node_id, record in news.nodes.items():
            self._note_left(node_id, record, now_s)
            self._note_came(node_id, record, now_s)
            if record is None:
                self.by_id.pop(node_id, None)
            else:
                self.by_id[node_id] = record
        if news.controllers is not None:
            self.controller, self.controller_revision = news.controllers

    def _note_left(self, node_id: int, record: NodeRecord | None, now_s: float) -> None:
        before, left = self.by_id.get(node_id), self._left.get(node_id)
        if record is not None and not record.fenced:
            self._left.pop(node_id, None)
        elif before is not None and not before.fenced:
            self._left[node_id] = LeftNode(record or before, now_s + TOLD_S)
        elif left is not None and record is not None:
            self._left[node_id] = LeftNode(record, left.until_s)

    def _note_came(self, node_id: int, record: NodeRecord | None, now_s: float) -> None:
        before = self.by_id.get(node_id)
        if record is None:
            self._came_at.pop(node_id, None)
        elif not record.fenced and (before is None or before.fenced or before.epoch != record.epoch):
            self._came_at[node_id] = now_s
