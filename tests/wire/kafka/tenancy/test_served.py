"""What is a tenant's own about the APIs: its fetch sessions, and what is counted as its use."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.requests import batch, create_topic, fetch, fetched, produced
from tests.wire.kafka.tenancy.tenants import ACME, OPERATOR, ZULU, open_tenants
from wire.kafka.errors import ErrorCode


@trio_test
async def test_a_fetch_session_of_another_is_not_found(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu = await tenants.connect(ACME), await tenants.connect(ZULU)
        await create_topic(zulu, "orders")
        begun = fetch("orders")
        begun.session_epoch = 0
        session = (await zulu.ask(begun, 12)).session_id
        assert session
        going_on = fetch("orders")
        going_on.topics, going_on.session_id, going_on.session_epoch = [], session, 1
        assert (await acme.ask(going_on, 12)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert (await zulu.ask(going_on, 12)).error_code == 0


@trio_test
async def test_what_a_tenant_sends_and_reads_is_counted_as_its_use(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, operator = await tenants.connect(ACME), await tenants.connect(OPERATOR)
        await create_topic(acme, "orders")
        sent = batch(3)
        await produced(acme, "orders", sent)
        await fetched(acme, "orders")
        await fetched(operator, "acme.orders")
        usage = tenants.door.broker.server.tenancy.usages.of("acme")
        assert (usage.requests, usage.produced_bytes, usage.connections) == (3, len(sent), 1)
        assert usage.consumed_bytes == len(sent)
        assert tenants.door.broker.server.tenancy.usages.of("zulu").requests == 0
