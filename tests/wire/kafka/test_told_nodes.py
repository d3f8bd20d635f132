"""Clients are told of the nodes that have entered the cluster, and always of somebody."""

from coordinators.cluster.nodes import NodeIdentity, Nodes
from engine.catalogue.records import NodeRecord
from wire.kafka.request import Endpoint, Peer
from wire.kafka.told_nodes import ToldNode, ToldNodes

PEER = Peer("10.0.0.9", 40000, Endpoint("node-1.example", 9092), 1)


def told_nodes(*records: NodeRecord) -> ToldNodes:
    """As node 1 tells of them."""
    return ToldNodes(Nodes({record.node_id: record for record in records}), NodeIdentity(1, "some-cluster", "a"))


def record(node_id: int, *, fenced: bool = False) -> NodeRecord:
    return NodeRecord(node_id, (f"PLAINTEXT://node-{node_id}.inside:9092",), "b", fenced=fenced)


def test_a_client_finds_this_node_where_it_found_it_and_the_others_by_their_listeners() -> None:
    told = told_nodes(record(2), record(1), record(3, fenced=True))
    assert told.all(PEER) == [ToldNode(1, "node-1.example", 9092, "b"), ToldNode(2, "node-2.inside", 9092, "b")]
    assert [node.node_id for node in told.all(PEER, with_fenced=True)] == [1, 2, 3]


def test_of_this_node_where_all_have_lost_their_sessions_at_once() -> None:
    alone = [ToldNode(1, "node-1.example", 9092, "a")]
    assert told_nodes().all(PEER) == alone
    assert told_nodes(record(1, fenced=True), record(2, fenced=True)).all(PEER) == alone
