"""Requests that come by no connection: who asks them, and what becomes of guests."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.tenants.usage import Usages
from tests.wire.inner.house import House, user
from tests.wire.kafka.tenancy.tenants import open_tenants
from wire.kafka.calls import Calls
from wire.kafka.messages.metadata import MetadataRequest


@trio_test
async def test_a_guest_of_a_tenant_counts_as_its_connection_while_it_is_there(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        house = House(tenants.door)
        await tenants.administration.alter("acme", principals=("User:ann",))
        usage = house.service(Usages).of("acme")
        with house.guest(user("ann")) as guest:
            await house.inner.ask(guest, MetadataRequest(None))
            assert usage.connections == 1
        assert usage.connections == 0


@trio_test
async def test_a_guest_knows_what_the_broker_calls_its_topics(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        house = House(tenants.door)
        await tenants.administration.alter("acme", principals=("User:ann",), rewrite=True)
        calls = house.service(Calls)
        with house.guest(user("ann")) as ann, house.guest(user("bob")) as bob:
            assert calls.broker_name(ann, "orders") == "acme.orders"
            assert calls.broker_name(bob, "orders") == "orders"


@trio_test
async def test_a_wait_is_taken_once(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        house = House(tenants.door)
        with house.guest() as guest:
            guest.mute(0.5)
            guest.mute(0.2)
            assert (guest.taken_wait_s(), guest.taken_wait_s()) == (0.5, 0.0)
