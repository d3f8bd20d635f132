"""The nodes of the cluster, as their rows in the catalogue tell them; and which of them this one is."""

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


@define(eq=False)
class Nodes:
    """Nodes by id. Only the event loop touches it."""

    by_id: dict[int, NodeRecord] = field(factory=dict)
    controller: ControllerRecord | None = field(default=None, init=False)
    """Who reacts to what happens to nodes; nobody for a moment, or where there is one node only."""
    controller_revision: int = field(default=0, init=False)
    """Of the row that tells it; 0 if there is none."""

    @classmethod
    def load(cls, catalogue: Catalogue) -> "Nodes":
        """[thread] As they are now; later rows come with the news."""
        nodes = cls()
        revision, entries = catalogue.entries(NODES)
        controller = catalogue.get(CONTROLLER)
        nodes.take(read_whole(revision, [*entries, *([] if controller is None else [controller])]))
        return nodes

    @property
    def present_controller(self) -> ControllerRecord | None:
        """The controller, if its node is here in that very life."""
        controller = self.controller
        node = None if controller is None else self.by_id.get(controller.node_id)
        return controller if node is not None and controller is not None and node.epoch == controller.epoch else None

    def take(self, news: News) -> None:
        """What a revision of the catalogue changed."""
        for node_id, record in news.nodes.items():
            if record is None:
                self.by_id.pop(node_id, None)
            else:
                self.by_id[node_id] = record
        if news.controllers is not None:
            self.controller, self.controller_revision = news.controllers
