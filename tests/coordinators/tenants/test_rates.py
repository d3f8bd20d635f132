"""How long a tenant is to wait that goes too fast."""

from coordinators.access.quotas.rates import QuotaWindow
from coordinators.tenants.rates import CONSUMED, PRODUCED, REQUESTS, TenantRates
from coordinators.tenants.rows import TenantLimits


def test_a_rate_is_obeyed_over_the_window() -> None:
    rates = TenantRates(QuotaWindow())
    assert not rates.is_on
    rates.obey(TenantLimits(producer_byte_rate=100))
    assert rates.is_on
    assert rates.use(PRODUCED, 1_000, 0.0) == 0.0
    assert rates.use(PRODUCED, 500, 1.0) > 0.0
    assert rates.use(CONSUMED, 10_000, 1.0) == rates.use(REQUESTS, 10_000, 1.0) == 0.0


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
    assert rates.most_at_once(CONSUMED) == 5_000_000
    rates.obey(TenantLimits(consumer_byte_rate=1))
    assert rates.most_at_once(CONSUMED) == 65_536
