"""Figures of tenants: of so many as may have series."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.metrics.tenants import TenantMetrics
from coordinators.tenants.holdings import Holdings
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.tenancy.tenants import ACME, open_tenants


@trio_test
async def test_tenants_have_series_up_to_the_limit(tmp_path: Path) -> None:
    async with open_tenants(tmp_path) as tenants:
        client, sent = await tenants.connect(ACME), batch(3)
        await create_topic(client, "orders")
        await produced(client, "orders", sent)
        holdings = tenants.door.broker.node.services[Holdings]
        metrics = TenantMetrics(tenants.administration.tenants, holdings.usages, holdings, 1)
        found = {
            (family.name, sample.labels.get("tenant")): sample.value
            for family in metrics.collect()
            if family is not None
            for sample in family.samples
        }
        assert found["tidegate_tenants", None] == 2
        assert found["tidegate_metrics_tenants_left_out", None] == 1
        assert found["tidegate_tenant_produced_bytes_total", "acme"] == len(sent)
        assert found["tidegate_tenant_storage_bytes", "acme"] == len(sent)
        assert found["tidegate_tenant_connections", "acme"] == 1
        assert not any(tenant == "zulu" for _, tenant in found)
