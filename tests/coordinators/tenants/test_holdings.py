"""What tenants hold: when it is as much as they may, nothing is added, and all is read."""

import time
from pathlib import Path

from trio.testing import trio_test

from engine.records.layout import pack_batch, pack_record
from tests.wire.kafka.requests import batch, create_topic, fetched, produced
from tests.wire.kafka.tenancy.tenants import ACME, OPERATOR, ZULU, open_tenants
from wire.kafka.errors import ErrorCode


@trio_test
async def test_a_tenant_that_stores_as_much_as_it_may_goes_on_reading(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme, zulu, operator = [await tenants.connect(each) for each in (ACME, ZULU, OPERATOR)]
        for client in (acme, zulu):
            await create_topic(client, "orders")
        await tenants.administration.alter("acme", {"storage_bytes": 500})
        assert (await produced(acme, "orders", batch([b"x" * 600]))).error_code == 0
        refused = await produced(acme, "orders", batch())
        assert refused.error_code == ErrorCode.POLICY_VIOLATION
        assert "storage_bytes=500" in refused.error_message
        assert (await produced(operator, "acme.orders", batch())).error_code == ErrorCode.POLICY_VIOLATION
        assert (await fetched(acme, "orders")).error_code == 0
        assert (await produced(zulu, "orders", batch())).error_code == 0
        await tenants.administration.alter("acme", {"storage_bytes": None})
        assert (await produced(acme, "orders", batch())).error_code == 0


@trio_test
async def test_delayed_records_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        acme = await tenants.connect(ACME)
        await create_topic(acme, "orders")
        await tenants.administration.alter("acme", {"pending_records": 1})
        delayed = delayed_batch()
        assert (await produced(acme, "orders", delayed)).error_code == 0
        refused = await produced(acme, "orders", delayed_batch())
        assert refused.error_code == ErrorCode.POLICY_VIOLATION
        assert "pending_records=1" in refused.error_message
        assert (await produced(acme, "orders", batch())).error_code == 0


def delayed_batch() -> bytes:
    """A record for in ten minutes."""
    now_ms = int(time.time() * 1000)
    return pack_batch([pack_record(0, 0, b"k", b"v", [(b"tide-delay", b"600000")])], (now_ms, now_ms))
