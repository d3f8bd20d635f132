"""Which nodes there are, which have come lately, and which have gone a moment ago."""

from attrs import evolve

from coordinators.cluster.news import News
from coordinators.cluster.nodes import RECONNECT_S, TOLD_S, Nodes
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import NodeRecord

ONE = NodeRecord(1, (), epoch=5)
FENCED = evolve(ONE, fenced=True)


def news(record: NodeRecord | None) -> News:
    return News(1, nodes={1: record})


def test_a_node_has_come_when_it_serves() -> None:
    nodes = Nodes()
    nodes.take(news(FENCED), 100.0)
    assert not nodes.came_lately(100.0)
    nodes.take(news(ONE), 101.0)
    assert list(nodes.came_lately(100.0 + RECONNECT_S)) == [1]
    assert not nodes.came_lately(101.0 + RECONNECT_S)


def test_a_change_of_its_row_is_no_arrival_and_another_life_is() -> None:
    nodes = Nodes()
    nodes.take(news(ONE), 0.0)
    nodes.take(news(evolve(ONE, stopping=True)), 50.0)
    assert not nodes.came_lately(50.0)
    nodes.take(news(evolve(ONE, epoch=9)), 60.0)
    assert list(nodes.came_lately(60.0)) == [1]


def test_who_was_there_before_this_node_is_no_newcomer() -> None:
    catalogue = MemoryCatalogue()
    catalogue.commit(Commit((), (Put(ONE.key, ONE.encode()),)))
    nodes = Nodes.load(catalogue)
    assert nodes.by_id.keys() == {1}
    assert not nodes.came_lately(0.0)


def test_who_served_is_told_of_for_a_while_after_it_has_gone() -> None:
    nodes = Nodes()
    nodes.take(news(ONE), 0.0)
    nodes.take(news(None), 100.0)
    assert not nodes.came_lately(100.0)
    assert list(nodes.left_lately(100.0)) == [ONE]
    assert not list(nodes.left_lately(100.0 + TOLD_S))
