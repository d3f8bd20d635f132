"""What the other doors' callers say and are told of names, and that what they ask for is counted."""

import pytest
import trio
from attrs import evolve
from trio.testing import trio_test

from coordinators.access.callers import ANONYMOUS, Caller, Principal
from coordinators.tenants.rows import TenantLimits, TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from coordinators.topic_view import TopicView
from engine.clock import ManualClock
from engine.errors import ClusterAuthorizationFailed
from wire.inner.namespaces import EVERYBODYS, Namespaces

ANN = Caller(Principal("acme.ann"), "10.0.0.1")
ROW = TenantRecord("acme", ("User:acme.*",), True)


def namespaces(row: TenantRecord = ROW) -> Namespaces:
    tenants = Tenants()
    tenants.take({"acme": (row, 1)})
    return Namespaces(tenants, TopicView(), Usages(), ManualClock())


def test_who_belongs_to_no_tenant_says_what_it_means() -> None:
    names = namespaces().of(Caller(ANONYMOUS, "10.0.0.1"))
    assert names is EVERYBODYS
    assert (names.meant("acme.orders"), names.told("acme.orders")) == ("acme.orders", "acme.orders")
    assert names.is_mine("acme.orders")
    assert names.words("acme.orders is no more") == "acme.orders is no more"


def test_a_tenants_names_are_within_its_namespace() -> None:
    names = namespaces().of(ANN)
    for said in ("orders", "zulu.orders", "acme.orders"):
        assert names.meant(said) == f"acme.{said}"
        assert names.told(f"acme.{said}") == said
    assert not names.is_mine("zulu.orders")
    assert not names.is_mine("orders")
    assert not names.is_mine("")
    assert names.words("no topic is called 'acme.orders'") == "no topic is called 'orders'"
    assert names.config_meant("dead.letter.topic", "letters") == "acme.letters"
    assert names.config_told("dead.letter.topic", "acme.letters") == "letters"
    assert names.config_meant("retention.ms", "5") == "5"


def test_without_rewriting_what_is_outside_cannot_be() -> None:
    names = namespaces(evolve(ROW, rewrite=False)).of(ANN)
    assert (names.meant("acme.orders"), names.told("acme.orders")) == ("acme.orders", "acme.orders")
    outside = names.meant("zulu.orders")
    assert outside.startswith("acme.\0")
    assert names.words(f"no topic is called {outside!r}") == "no topic is called 'zulu.orders'"


def test_a_token_that_names_a_tenant_that_there_is_not_is_refused() -> None:
    with pytest.raises(ClusterAuthorizationFailed):
        namespaces().of(Caller(Principal("zoe"), "10.0.0.1", tenant="zulu"))


@trio_test
async def test_requests_are_counted_and_wait_for_the_tenants_rate(autojump_clock: trio.testing.MockClock) -> None:
    among = namespaces(evolve(ROW, limits=TenantLimits(request_rate=1)))
    among.usages.rates("acme").obey(TenantLimits(request_rate=1))
    names = among.of(ANN)
    await among.charge(EVERYBODYS)
    assert among.usages.of("acme").requests == 0
    for _ in range(30):
        await among.charge(names)
    assert among.usages.of("acme").requests == 30
    assert autojump_clock.current_time() > 1
