"""How long a tenant is to wait that goes too fast."""

import pytest

from coordinators.access.quotas.rates import QuotaWindow
from coordinators.tenants.rates import CONSUMED, PRODUCED, REQUESTS, TenantRates
from coordinators.tenants.rows import TenantLimits


def test_bytes_are_taken_at_an_even_pace() -> None:
    rates = TenantRates(QuotaWindow(), burst_s=0.5)
    assert not rates.is_on
    rates.obey(TenantLimits(producer_byte_rate=100))
    assert rates.is_on
    assert rates.use(PRODUCED, 50, 0.0) == 0.0
    assert rates.use(PRODUCED, 50, 0.0) == 0.5
    assert rates.use(PRODUCED, 50, 100.0) == 0.0, "of a long rest no more than a moment is left"
    assert rates.use(PRODUCED, 1_000, 100.0) == 10.0
    assert rates.use(CONSUMED, 10_000, 1.0) == rates.use(REQUESTS, 10_000, 1.0) == 0.0


def test_requests_are_counted_over_the_window() -> None:
    rates = TenantRates(QuotaWindow())
    rates.obey(TenantLimits(request_rate=10))
    assert rates.use(REQUESTS, 100, 0.0) == 0.0
    assert rates.use(REQUESTS, 1, 0.0) > 0.0


@pytest.mark.parametrize("connections", [1, 4])
def test_no_moment_gets_more_than_the_pace_and_what_is_in_hand(connections: int) -> None:
    """Clients that send as much as they are let, for two minutes: however short a while one looks at."""
    rate, size, burst_s = 5_000_000, 1_000_000, 0.25
    rates = TenantRates(QuotaWindow(), burst_s)
    rates.obey(TenantLimits(producer_byte_rate=rate))
    ready = [0.0] * connections
    sent: list[tuple[float, int]] = []
    while (now := min(ready)) < 120.0:
        ready[ready.index(now)] = now + max(rates.use(PRODUCED, size, now), 0.001)
        sent.append((now, size))
    assert sum(amount for _, amount in sent) / 120 > rate * 0.95, "what it may is what it gets"
    for look_s in (0.5, 1.0, 10.0):
        for begin in range(119):
            within = sum(amount for at, amount in sent if begin <= at < begin + look_s)
            assert within <= rate * (look_s + burst_s) + connections * size


def test_what_was_used_stays_so_when_the_limit_changes() -> None:
    rates = TenantRates(QuotaWindow())
    rates.obey(TenantLimits(producer_byte_rate=1_000))
    rates.use(PRODUCED, 5_000, 0.0)
    assert rates.now(PRODUCED, 0.0) == 500
    rates.obey(TenantLimits(producer_byte_rate=100, topics=3))
    assert rates.use(PRODUCED, 0, 0.0) > 0.0
    rates.obey(TenantLimits())
    assert (rates.is_on, rates.now(PRODUCED, 0.0), rates.most_at_once(CONSUMED)) == (False, None, None)


def test_one_answer_is_a_moments_worth() -> None:
    rates = TenantRates(QuotaWindow())
    rates.obey(TenantLimits(consumer_byte_rate=5_000_000))
    assert rates.most_at_once(CONSUMED) == 1_250_000
    rates.obey(TenantLimits(consumer_byte_rate=1))
    assert rates.most_at_once(CONSUMED) == 65_536
