"""The nodes of the cluster, as their rows in the catalogue tell them; and which of them this one is."""

from attrs import define, field, frozen

from coordinators.cluster.news import News, read_whole
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import NODES, NodeRecord


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

    @classmethod
    def load(cls, catalogue: Catalogue) -> "Nodes":
        """[thread] As they are now; later rows come with the news."""
        nodes = cls()
        nodes.take(read_whole(*catalogue.entries(NODES)))
        return nodes

    def take(self, news: News) -> None:
        """What a revision of the catalogue changed."""
        for node_id, record in news.nodes.items():
            if record is None:
                self.by_id.pop(node_id, None)
            else:
                self.by_id[node_id] = record
