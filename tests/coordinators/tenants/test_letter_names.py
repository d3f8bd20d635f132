"""Letters name where they come from as their readers call it, and nothing of anybody else's."""

from coordinators.tenants.letter_names import origin_headers
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.tenants import Tenants

TOPIC, GROUP, TENANT = b"__dlq.errors.topic", b"__dlq.errors.group", b"__dlq.errors.tenant"


def tenants() -> Tenants:
    made = Tenants()
    made.take({"acme": (TenantRecord("acme", rewrite=True), 1), "zulu": (TenantRecord("zulu"), 1)})
    return made


def test_what_is_nobodys_is_named_as_it_is() -> None:
    assert origin_headers(tenants(), "orders", "g") == [(TOPIC, b"orders"), (GROUP, b"g")]
    assert origin_headers(Tenants(), "acme.orders", "g") == [(TOPIC, b"acme.orders"), (GROUP, b"g")]
    assert origin_headers(tenants(), "orders") == [(TOPIC, b"orders")]


def test_a_tenant_whose_names_are_rewritten_reads_them_so() -> None:
    told = origin_headers(tenants(), "acme.orders", "acme.g")
    assert told == [(TOPIC, b"orders"), (GROUP, b"g"), (TENANT, b"acme")]


def test_another_reads_them_with_the_prefix() -> None:
    assert origin_headers(tenants(), "zulu.orders", "zulu.g") == [(TOPIC, b"zulu.orders"), (GROUP, b"zulu.g")]


def test_a_group_from_outside_is_not_named() -> None:
    assert origin_headers(tenants(), "acme.orders", "audit") == [(TOPIC, b"orders"), (TENANT, b"acme")]
    assert origin_headers(tenants(), "zulu.orders", "acme.g") == [(TOPIC, b"zulu.orders")]
