"""Clients are told of the nodes that have entered the cluster, and always of somebody."""

from collections.abc import Sequence

from attrs import evolve

from coordinators.cluster.news import News
from coordinators.cluster.nodes import TOLD_S, NodeIdentity, Nodes
from engine.catalogue.records import NodeRecord
from engine.clock import ManualClock
from wire.kafka.request import Endpoint, Peer
from wire.kafka.told_nodes import ToldNode, ToldNodes

PEER = Peer("10.0.0.9", 40000, Endpoint("node-1.example", 9092), 1)


def told_nodes(*records: NodeRecord) -> ToldNodes:
    """As node 1 tells of them."""
    known = Nodes({record.node_id: record for record in records})
    return ToldNodes(known, NodeIdentity(1, "some-cluster", "a"), ManualClock())


def change(told: ToldNodes, *nodes: NodeRecord, gone: Sequence[int] = ()) -> None:
    """The catalogue says so, now."""
    news = News(1, nodes={**dict.fromkeys(gone), **{node.node_id: node for node in nodes}})
    told.nodes.take(news, told.clock.monotonic())


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


def known(told: ToldNodes) -> list[int]:
    return [node.node_id for node in told.known(PEER)]


def test_nodes_that_lost_their_sessions_are_known_until_they_are_back_but_nobody_is_sent_there() -> None:
    told = told_nodes(record(1), record(2), record(3))
    change(told, gone=(1, 2, 3))
    assert known(told) == [1, 2, 3]
    assert [node.node_id for node in told.all(PEER)] == [1]
    assert told.one(2, PEER) is None
    change(told, evolve(record(2, fenced=True), listeners=("PLAINTEXT://elsewhere:9092",)))
    assert told.known(PEER)[1] == ToldNode(2, "elsewhere", 9092, "b", is_fenced=True)
    change(told, record(2))
    assert told.one(2, PEER) == told.known(PEER)[1] == ToldNode(2, "node-2.inside", 9092, "b")


def test_a_node_that_does_not_come_back_is_forgotten_in_time() -> None:
    told = told_nodes(record(1), record(2), record(3))
    assert isinstance(told.clock, ManualClock)
    change(told, gone=(2, 3))
    told.clock.advance_ms(int(TOLD_S * 500))
    change(told, record(3, fenced=True))
    assert known(told) == [1, 2, 3]
    told.clock.advance_ms(int(TOLD_S * 500))
    assert known(told) == [1]
    change(told, record(3), gone=(2,))
    assert known(told) == [1, 3]


def test_a_node_that_never_served_is_not_known() -> None:
    told = told_nodes(record(1))
    change(told, record(2, fenced=True))
    change(told, gone=(2,))
    assert known(told) == [1]


def test_this_node_serves_as_far_as_it_knows_and_others_by_their_rows() -> None:
    told = told_nodes(record(2), record(3, fenced=True))
    assert [node_id for node_id in (-1, 1, 2, 3, 4) if told.serves(node_id)] == [1, 2]
    assert told.coordinator(1, PEER) == ToldNode(1, "node-1.example", 9092, "a")
    assert told.coordinator(2, PEER) == told.one(2, PEER) == ToldNode(2, "node-2.inside", 9092, "b")
    assert told.coordinator(3, PEER) is told.coordinator(4, PEER) is None


def came_by(name: str, number: int = 0) -> Peer:
    return Peer("10.0.0.9", 40000, Endpoint("node-1.example", 9092), 1, listener=number, listener_name=name)


def test_a_client_is_told_the_listener_of_the_name_by_which_it_came_wherever_it_stands() -> None:
    own = NodeRecord(1, ("IN://one.inside:1", "OUT://one.outside:2"))
    other = NodeRecord(2, ("OUT://two.outside:4", "IN://two.inside:3"))
    told = told_nodes(own, other)
    assert told.one(2, came_by("IN", 0)) == ToldNode(2, "two.inside", 3, None)
    assert told.one(2, came_by("OUT", 1)) == ToldNode(2, "two.outside", 4, None)
    assert told.without_listener(came_by("OUT", 1)) == frozenset()


def test_nothing_is_told_of_a_node_without_such_a_listener() -> None:
    told = told_nodes(NodeRecord(1, ("IN://a:1", "OUT://b:2")), NodeRecord(2, ("IN://c:3",)))
    assert told.one(2, came_by("OUT", 1)) is None
    assert [node.node_id for node in told.all(came_by("OUT", 1))] == [1]
    assert told.without_listener(came_by("OUT", 1)) == {2}


def test_of_several_listeners_of_a_name_each_has_its_counterpart() -> None:
    told = told_nodes(
        NodeRecord(1, ("IN://a:1", "OUT://b:2", "IN://c:3")), NodeRecord(2, ("IN://d:4", "IN://e:5", "OUT://f:6"))
    )
    assert [told.one(2, came_by("IN", number)) for number in (0, 2)] == [
        ToldNode(2, "d", 4, None),
        ToldNode(2, "e", 5, None),
    ]
