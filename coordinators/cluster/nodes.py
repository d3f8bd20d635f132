"""The nodes of the cluster, as their rows in the catalogue tell them."""

from attrs import define, field

from coordinators.cluster.news import News
from engine.catalogue.records import NodeRecord


@define(eq=False)
class Nodes:
    """Nodes by id. Only the event loop touches it."""

    by_id: dict[int, NodeRecord] = field(factory=dict)

    def take(self, news: News) -> None:
        """What a revision of the catalogue changed."""
        for node_id, record in news.nodes.items():
            if record is None:
                self.by_id.pop(node_id, None)
            else:
                self.by_id[node_id] = record
