"""What tenants use: counted where their requests are served, kept while the node runs."""

from attrs import define, field


@define(eq=False)
class TenantUsage:
    """Of one tenant, on this node."""

    requests: int = 0
    produced_bytes: int = 0
    """Of records, as they came."""
    consumed_bytes: int = 0
    """Of answers to fetches."""
    connections: int = 0
    """Now."""
    refused_connections: int = 0
    throttled_ms: int = 0


@define(eq=False)
class Usages:
    """By the names of tenants."""

    _by_name: dict[str, TenantUsage] = field(factory=dict, init=False)

    def of(self, name: str) -> TenantUsage:
        """What the tenant has used so far."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = TenantUsage()
        return found

    def forget(self, name: str) -> None:
        """The tenant is no more."""
        self._by_name.pop(name, None)
