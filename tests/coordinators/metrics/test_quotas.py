"""Figures of quotas: of every quota, and of the clients that waited longest."""

from typing import Any

from coordinators.access.quotas.quotas import Quotas
from coordinators.metrics.quotas import QuotaMetrics
from engine.clock import ManualClock


def figures(quotas: Quotas, limit: int = 10) -> dict[str, dict[tuple[str, ...], Any]]:
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in QuotaMetrics(quotas, limit).collect()
    }


def test_the_longest_waits_are_told_by_client() -> None:
    quotas = Quotas(ManualClock())
    quotas.produced.bind({("", None): 10.0})
    for client, amount in (("a", 90), ("b", 110), ("c", 130)):
        quotas.produced.use("u", client, amount)
    found = figures(quotas, limit=1)
    assert found["tidegate_quota_throttled_requests_total"]["producer_byte_rate",] == 2
    assert found["tidegate_quota_throttled_seconds_total"]["producer_byte_rate",] == 4.0
    assert found["tidegate_quota_client_throttled_seconds"] == {("producer_byte_rate", "", "c"): 3.0}
    assert found["tidegate_quota_throttled_requests_total"]["request_percentage",] == 0
