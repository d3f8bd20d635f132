"""Quotas on a catalogue: planned against what is known, followed, and obeyed by the meters."""

from collections.abc import Callable

import pytest
from attrs import define, field

from coordinators.access.quotas.entities import Entity
from coordinators.access.quotas.quotas import QuotaAlteration, Quotas
from coordinators.cluster.news import read_news
from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Put, Watch
from engine.catalogue.memory import MemoryCatalogue
from engine.clock import ManualClock
from engine.errors import InvalidRequest

ALICE = [("user", "alice")]


@define(eq=False)
class OnNode:
    """A node that follows the catalogue."""

    catalogue: Catalogue
    quotas: Quotas = field(factory=lambda: Quotas(ManualClock()))
    watch: Watch = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.quotas.load(self.catalogue)
        self.watch = self.catalogue.watch(self.catalogue.revision())

    def follow(self) -> None:
        for news in read_news(self.watch.next(0)):
            self.quotas.take(news)

    def alter(self, parts: list[tuple[str, str | None]], **values: float | None) -> Callable[[], int]:
        """Plans; what is returned commits."""
        plan = self.quotas.plan([(parts, [QuotaAlteration(key, value) for key, value in values.items()])])
        assert not isinstance(plan.results[0], Exception)
        return lambda: self.catalogue.commit(plan.commit)


def test_every_node_obeys_what_one_was_told() -> None:
    catalogue = MemoryCatalogue()
    one, other = OnNode(catalogue), OnNode(catalogue)
    one.alter(ALICE, producer_byte_rate=10.0)()
    assert not one.quotas.is_metering
    one.follow()
    other.follow()
    for node in (one, other, OnNode(catalogue)):
        assert node.quotas.is_metering
        assert node.quotas.produced.use("alice", "c", 110) == pytest.approx(1.0)
        assert not node.quotas.consumed.is_on
    assert list(other.quotas.row_keys()) == ["quotas/users/alice"]
    other.alter(ALICE, producer_byte_rate=None)()
    one.follow()
    assert not one.quotas.is_metering
    assert len(one.quotas) == 0


def test_two_who_change_one_entity_do_not_lose_a_change() -> None:
    catalogue = MemoryCatalogue()
    one, other = OnNode(catalogue), OnNode(catalogue)
    first = one.alter(ALICE, producer_byte_rate=10.0)
    second = other.alter(ALICE, consumer_byte_rate=20.0)
    first()
    with pytest.raises(CatalogueConflict):
        second()
    other.follow()
    other.alter(ALICE, consumer_byte_rate=20.0)()
    other.follow()
    assert other.quotas.values(Entity.of(ALICE)) == {"producer_byte_rate": 10.0, "consumer_byte_rate": 20.0}


def test_what_is_so_already_is_no_change() -> None:
    node = OnNode(MemoryCatalogue())
    node.alter(ALICE, producer_byte_rate=10.0)()
    node.follow()
    again = node.quotas.plan([(ALICE, [QuotaAlteration("producer_byte_rate", 10.0)])])
    absent = node.quotas.plan([([("user", "bob")], [QuotaAlteration("producer_byte_rate", None)])])
    assert again.empty
    assert absent.empty


def test_a_connection_rate_counts_no_requests() -> None:
    node = OnNode(MemoryCatalogue())
    node.alter([("ip", "::ffff:10.0.0.1")], connection_creation_rate=1.0)()
    node.follow()
    assert not node.quotas.is_metering
    assert node.quotas.connections.use("", "10.0.0.1", 11) > 0


def test_a_refused_entity_leaves_others_alone() -> None:
    node = OnNode(MemoryCatalogue())
    good = QuotaAlteration("request_percentage", 10.0)
    plan = node.quotas.plan([([("user", "")], [good]), (ALICE, [good])])
    assert isinstance(plan.results[0], InvalidRequest)
    assert plan.results[1] == Entity.of(ALICE)
    assert isinstance(plan.commit.changes[0], Put)


def test_keys_of_a_later_version_are_not_obeyed() -> None:
    catalogue = MemoryCatalogue()
    catalogue.commit(Commit(changes=(Put("quotas/users/alice", b'{"later_rate":1.0,"producer_byte_rate":2.0}'),)))
    assert OnNode(catalogue).quotas.values(Entity.of(ALICE)) == {"producer_byte_rate": 2.0}
