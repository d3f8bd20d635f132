"""How fast a tenant goes, and how long it is to wait when that is too fast: with the arithmetic of quotas, for all its
clients together, on each node."""

from attrs import define, field

from coordinators.access.quotas.rates import QuotaWindow, SampledRate
from coordinators.tenants.rows import TenantLimits

PRODUCED, CONSUMED, REQUESTS = "producer_byte_rate", "consumer_byte_rate", "request_rate"
RATES = (PRODUCED, CONSUMED, REQUESTS)
LEAST_AT_ONCE_BYTES = 64 * 1024


@define(eq=False)
class TenantRates:
    """Of one tenant. `is_on` while one of its rates is bounded; nothing is counted else."""

    window: QuotaWindow
    is_on: bool = field(default=False, init=False)
    _bounds: dict[str, int] = field(factory=dict, init=False)
    _rates: dict[str, SampledRate] = field(factory=dict, init=False)

    def obey(self, limits: TenantLimits) -> None:
        """These are its limits from now on; what was used stays so."""
        self._bounds = {name: bound for name in RATES if (bound := getattr(limits, name)) is not None}
        self._rates = {name: self._rates.get(name) or SampledRate(self.window) for name in self._bounds}
        self.is_on = bool(self._bounds)

    def use(self, name: str, amount: float, now: float) -> float:
        """So much was used; for how many seconds whoever did should wait."""
        rate = self._rates.get(name)
        if rate is None:
            return 0.0
        rate.record(amount, now)
        return rate.wait_s(self._bounds[name], now)

    def most_at_once(self, name: str) -> int | None:
        """What one answer should hold at most, a sample's worth; None without a bound. A window's worth would be within
        the bound, and others would wait while it goes out."""
        bound = self._bounds.get(name)
        return None if bound is None else max(LEAST_AT_ONCE_BYTES, int(bound * self.window.sample_s))

    def now(self, name: str, now: float) -> float | None:
        """How much it uses in a second; None where it has no bound."""
        rate = self._rates.get(name)
        return None if rate is None else rate.rate(now)
