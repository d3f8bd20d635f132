"""How fast a tenant goes, and how long it is to wait when that is too fast: for all its clients together, on each node.

Bytes are taken at an even pace. Kafka's quotas are averages over some ten seconds: whoever has used nothing for so long
may use ten seconds' worth at once, and does so again whenever that has left the window. Of tenants the others would
notice. So what a tenant publishes or reads at once is a moment's worth (`tenant.burst.ms`), and then as much as time
goes by. Requests are counted as quotas are: they are small, and everybody has a turn between two of them.
"""

from attrs import define, field

from coordinators.access.quotas.rates import QuotaWindow, SampledRate, TokenBucket
from coordinators.tenants.rows import TenantLimits

PRODUCED, CONSUMED, REQUESTS = "producer_byte_rate", "consumer_byte_rate", "request_rate"
RATES = (PRODUCED, CONSUMED, REQUESTS)
PACED = (PRODUCED, CONSUMED)
LEAST_AT_ONCE_BYTES = 64 * 1024
BURST_S = 0.25


@define(eq=False)
class TenantRates:
    """Of one tenant. `is_on` while one of its rates is bounded; nothing is counted else."""

    window: QuotaWindow
    burst_s: float = BURST_S
    is_on: bool = field(default=False, init=False)
    _bounds: dict[str, int] = field(factory=dict, init=False)
    _rates: dict[str, SampledRate] = field(factory=dict, init=False)
    _paces: dict[str, TokenBucket] = field(factory=dict, init=False)

    def obey(self, limits: TenantLimits) -> None:
        """These are its limits from now on; what was used stays so."""
        self._bounds = {name: bound for name in RATES if (bound := getattr(limits, name)) is not None}
        self._rates = {name: self._rates.get(name) or SampledRate(self.window) for name in self._bounds}
        moment = QuotaWindow(1, self.burst_s)
        self._paces = {name: self._paces.get(name) or TokenBucket(moment) for name in PACED if name in self._bounds}
        self.is_on = bool(self._bounds)

    def use(self, name: str, amount: float, now: float) -> float:
        """So much was used; for how many seconds whoever did should wait."""
        rate = self._rates.get(name)
        if rate is None:
            return 0.0
        rate.record(amount, now)
        bound, pace = self._bounds[name], self._paces.get(name)
        if pace is None:
            return rate.wait_s(bound, now)
        pace.record(amount, bound, now)
        return pace.wait_s(bound, now)

    def most_at_once(self, name: str) -> int | None:
        """What one answer should hold at most, a moment's worth; None without a bound."""
        bound = self._bounds.get(name)
        return None if bound is None else max(LEAST_AT_ONCE_BYTES, int(bound * self.burst_s))

    def now(self, name: str, now: float) -> float | None:
        """How much it uses in a second; None where it has no bound."""
        rate = self._rates.get(name)
        return None if rate is None else rate.rate(now)
