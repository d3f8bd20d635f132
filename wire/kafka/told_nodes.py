"""Where clients are told that the nodes of the cluster are: from their rows in the catalogue, by the listener that the
client came by.

A client finds this node where it found it just now. Another node is told by its listener of the same name; a node that
has none, or has no row, or has not entered the cluster yet, is not told of at all. But there always is one: when all
have lost their sessions at once the client is told of this node, which answers it. Of an empty list librdkafka
concludes that it has nobody left to ask, and never asks again.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from attrs import frozen

from coordinators.cluster.nodes import NodeIdentity, Nodes
from engine.catalogue.records import NodeRecord
from engine.clock import Clock
from wire.kafka.listeners import Listener, parse_listener
from wire.kafka.request import Peer


@frozen
class ToldNode:
    """A node as one client is told of it."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool = False


class _Endpoint(Protocol):
    node_id: int


E = TypeVar("E", bound=_Endpoint)


def add_endpoint(endpoints: list[E], kind: Callable[[int, str, int, str | None], E], node: ToldNode | None) -> None:
    """Name a leader that is hinted at among an answer's endpoints (KIP-951), once."""
    if node is not None and all(known.node_id != node.node_id for known in endpoints):
        endpoints.append(kind(node.node_id, node.host, node.port, node.rack))


@frozen
class ToldNodes:
    """See the module."""

    nodes: Nodes
    identity: NodeIdentity
    clock: Clock

    @property
    def controller_id(self) -> int:
        """The controller; this node while there is none, or where it is the only one."""
        controller = self.nodes.present_controller
        return self.identity.node_id if controller is None else controller.node_id

    def all(self, peer: Peer, *, with_fenced: bool = False) -> list[ToldNode]:
        """Every node of the cluster, by number."""
        told = (self._told(record, peer) for _, record in sorted(self.nodes.by_id.items()))
        wanted = [node for node in told if node is not None and (with_fenced or not node.is_fenced)]
        return wanted or [self._this_one(peer)]

    def known(self, peer: Peer) -> list[ToldNode]:
        """Every node that serves, and those that did until a moment ago, by number."""
        serving = {record.node_id: record for record in self.nodes.by_id.values() if not record.fenced}
        left = {record.node_id: record for record in self.nodes.left_lately(self.clock.monotonic())}
        told = (self._told(record, peer) for _, record in sorted({**left, **serving}.items()))
        return [node for node in told if node is not None] or [self._this_one(peer)]

    def serves(self, node_id: int) -> bool:
        """Whether a node may lead or coordinate, as far as this one knows; of itself it knows that it answers."""
        record = self.nodes.by_id.get(node_id)
        return node_id == self.identity.node_id or (record is not None and not record.fenced)

    def coordinator(self, node_id: int, peer: Peer) -> ToldNode | None:
        """Whom to ask as the coordinator. A node that was replaced and does not know by whom tells of itself; asked, it
        says NOT_COORDINATOR, of which clients make more than of COORDINATOR_NOT_AVAILABLE."""
        return self._this_one(peer) if node_id == self.identity.node_id else self.one(node_id, peer)

    def one(self, node_id: int, peer: Peer) -> ToldNode | None:
        """One node; None if nothing can be said of it."""
        record = self.nodes.by_id.get(node_id)
        return None if record is None or record.fenced else self._told(record, peer)

    def without_listener(self, peer: Peer) -> frozenset[int]:
        """The nodes that serve, and that have no listener of the name by which the client came."""
        serving = [record for record in self.nodes.by_id.values() if not record.fenced]
        return frozenset(record.node_id for record in serving if self._told(record, peer) is None)

    def _this_one(self, peer: Peer) -> ToldNode:
        """Where the client found it."""
        return ToldNode(self.identity.node_id, peer.endpoint.host, peer.endpoint.port, self.identity.rack)

    def _told(self, record: NodeRecord, peer: Peer) -> ToldNode | None:
        if record.node_id == self.identity.node_id:
            return ToldNode(record.node_id, peer.endpoint.host, peer.endpoint.port, record.rack, record.fenced)
        listener = self._same_listener(record, peer)
        if listener is None:
            return None
        return ToldNode(record.node_id, listener.host, listener.port, record.rack, record.fenced)

    def _same_listener(self, record: NodeRecord, peer: Peer) -> Listener | None:
        """Of several of one name, the one at the same place among them, or the last."""
        named = [each for each in map(parse_listener, record.listeners) if each.name == peer.listener_name]
        if len(named) < 2:
            return named[0] if named else None
        own = self.nodes.by_id.get(self.identity.node_id)
        before = () if own is None else own.listeners[: peer.listener]
        place = sum(parse_listener(each).name == peer.listener_name for each in before)
        return named[min(place, len(named) - 1)]
