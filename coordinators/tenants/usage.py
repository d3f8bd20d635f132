"""What tenants use: counted where their requests are served, kept while the node runs."""

from attrs import define, field

from coordinators.access.quotas.rates import QuotaWindow
from coordinators.tenants.rates import BURST_S, TenantRates


@define(eq=False)
class TenantUsage:
    """Of one tenant, on this node."""

    requests: int = 0
    produced_bytes: int = 0
    """Of records, as they came."""
    consumed_bytes: int = 0
    """Of records, as they went out."""
    connections: int = 0
    """Now."""
    refused_connections: int = 0
    throttled_ms: int = 0
    """How long its clients were told to wait, in sum."""


@define(eq=False)
class Usages:
    """By the names of tenants."""

    window: QuotaWindow = field(factory=QuotaWindow)
    burst_s: float = BURST_S
    """What a tenant may publish or read at once is what its rate allows in so long."""
    _by_name: dict[str, TenantUsage] = field(factory=dict, init=False)
    _rates: dict[str, TenantRates] = field(factory=dict, init=False)

    def of(self, name: str) -> TenantUsage:
        """What the tenant has used so far."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = TenantUsage()
        return found

    def rates(self, name: str) -> TenantRates:
        """How fast it goes."""
        found = self._rates.get(name)
        if found is None:
            found = self._rates[name] = TenantRates(self.window, self.burst_s)
        return found

    def forget(self, name: str) -> None:
        """The tenant is no more."""
        self._by_name.pop(name, None)
        self._rates.pop(name, None)
