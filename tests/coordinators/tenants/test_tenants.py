"""Which tenants there are, whose a name is, and what changes are planned."""

import pytest

from coordinators.access.callers import Caller, Principal
from coordinators.cluster.news import read_whole
from coordinators.tenants.rows import TenantLimits
from coordinators.tenants.tenants import TenantExists, TenantHasTopics, Tenants, UnknownTenant
from engine.catalogue.catalogue import CatalogueConflict
from engine.catalogue.memory import MemoryCatalogue


class Kept:
    """Tenants and the catalogue that they are kept in."""

    def __init__(self) -> None:
        self.catalogue, self.tenants = MemoryCatalogue(), Tenants()

    def follow(self) -> Tenants:
        self.tenants.take(read_whole(*self.catalogue.entries(""), known=self.tenants.keys()).tenants)
        return self.tenants

    def create(self, name: str, principals: tuple[str, ...] | None = None) -> None:
        self.catalogue.commit(self.tenants.plan_create(name, principals, limits=TenantLimits())[1])
        self.follow()


def test_a_tenant_is_made_altered_and_deleted() -> None:
    kept, told = Kept(), []
    kept.tenants.on_change.append(lambda: told.append(len(kept.tenants)))
    kept.create("acme")
    with pytest.raises(TenantExists):
        kept.create("acme")
    row, commit = kept.tenants.plan_alter("acme", limits={"topics": 2}, rewrite=True)
    kept.catalogue.commit(commit)
    assert kept.follow().get("acme") == row
    assert (row.limits.topics, row.rewrite, row.principals) == (2, True, ("User:acme.*",))
    assert kept.tenants.plan_alter("acme", limits={"topics": 2})[1].changes == ()
    kept.catalogue.commit(kept.tenants.plan_delete("acme", [], force=False))
    assert kept.follow().get("acme") is None
    assert told == [1, 1, 0]


def test_what_was_planned_against_an_older_row_is_refused() -> None:
    kept = Kept()
    kept.create("acme")
    _, first = kept.tenants.plan_alter("acme", limits={"topics": 2})
    _, second = kept.tenants.plan_alter("acme", limits={"topics": 3})
    kept.catalogue.commit(first)
    with pytest.raises(CatalogueConflict):
        kept.catalogue.commit(second)


def test_a_tenant_with_topics_stays_unless_forced() -> None:
    kept = Kept()
    kept.create("acme")
    topics = ["acme.orders", "acmeorders", "zulu.orders"]
    with pytest.raises(TenantHasTopics, match=r"1 topics \(acme.orders\)"):
        kept.tenants.plan_delete("acme", topics, force=False)
    assert kept.tenants.plan_delete("acme", topics, force=True).changes
    with pytest.raises(UnknownTenant):
        kept.tenants.plan_delete("zulu", [], force=True)


def test_whose_a_name_is() -> None:
    kept = Kept()
    assert kept.tenants.owner("acme.orders") is None
    kept.create("acme")
    kept.create("acme-2")
    owners = {name: kept.tenants.owner(name) for name in ("acme.orders", "acme-2.x", "acme", "acmeorders", "x.acme.y")}
    assert {name: owner and owner.name for name, owner in owners.items()} == {
        "acme.orders": "acme",
        "acme-2.x": "acme-2",
        "acme": None,
        "acmeorders": None,
        "x.acme.y": None,
    }


def test_whom_a_caller_belongs_to() -> None:
    kept = Kept()
    alice = Caller(Principal("alice"), "")
    assert kept.tenants.of(alice) is None
    kept.create("zulu", ("User:alice",))
    assert kept.tenants.of(alice) == "zulu"
    kept.create("acme", ("User:alice", "User:acme.*"))
    assert kept.tenants.of(alice) == "acme"
    assert kept.tenants.of(Caller(Principal("bob"), "")) is None
    # What a token says goes before, also if there is no such tenant: nobody is served as somebody else then.
    assert kept.tenants.of(Caller(Principal("alice"), "", "nobody")) == "nobody"
