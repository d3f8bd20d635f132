"""Rows of tenants: what they may be called, who belongs to them, what they may use."""

import pytest

from coordinators.access.callers import Principal
from coordinators.tenants.rows import TenantLimits, TenantRecord, default_principals
from engine.errors import InvalidRequest


def test_a_row_comes_back_from_the_catalogue() -> None:
    row = TenantRecord("acme", ("User:alice", "User:acme.*"), True, TenantLimits(topics=3, producer_byte_rate=10))
    assert TenantRecord.decode(row.encode()) == row
    assert TenantRecord.decode(b'{"name":"acme","later":1}') == TenantRecord("acme")
    assert (row.key, row.prefix) == ("tenants/acme", "acme.")


@pytest.mark.parametrize("name", ["", "a.b", "a_b", "-a", "a-", "a b", "a" * 65, "__x", "ä"])
def test_a_name_that_could_be_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be called"):
        TenantRecord(name).check()


@pytest.mark.parametrize("principal", ["alice", "User:", "User:*", "User:a*b", ":x"])
def test_principals_that_name_nobody_or_everybody_are_refused(principal: str) -> None:
    with pytest.raises(InvalidRequest, match="names no principals"):
        TenantRecord("acme", (principal,)).check()


def test_who_belongs_to_it() -> None:
    row = TenantRecord("acme", ("User:alice", *default_principals("acme")))
    row.check()
    assert row.includes(Principal("alice"))
    assert row.includes(Principal("acme.bob"))
    assert not row.includes(Principal("acmebob"))
    assert not row.includes(Principal("alice2"))
    assert not row.includes(Principal("alice", "Node"))


def test_limits_are_changed_one_by_one() -> None:
    limits = TenantLimits(topics=3).changed({"partitions": 5, "topics": None})
    assert limits == TenantLimits(partitions=5)
    for changes in ({"apples": 1}, {"topics": -1}, {"producer_byte_rate": 0}, {"storage_bytes": 2**63}):
        with pytest.raises(InvalidRequest):
            limits.changed(changes)
