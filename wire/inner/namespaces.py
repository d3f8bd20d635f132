"""What the broker's other doors say and hear of a caller's namespace, where they do not ask requests in its name.

    names = namespaces.of(call.caller)
    topic = topics.by_name.get(names.meant("orders"))        # acme.orders
    shown = [names.told(each.name) for each in topics.view if names.is_mine(each.name)]

Who belongs to no tenant says what it means. For a tenant's caller whatever it says is within its namespace, and what is
outside is not there (`wire/kafka/tenancy/view.py`); and what it asks for is counted as the tenant's.
"""

import trio
from attrs import frozen

from coordinators.access.callers import Caller
from coordinators.tenants.rates import REQUESTS
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from coordinators.topic_view import TopicView
from engine.clock import Clock
from engine.errors import ClusterAuthorizationFailed
from wire.kafka.tenancy.view import TOPIC_VALUED, VIEWS, TenantView


class Names:
    """Those of who belongs to no tenant."""

    tenant: str | None = None

    def meant(self, name: str) -> str:
        """What the broker calls what the caller calls so."""
        return name

    def told(self, name: str) -> str:
        """The reverse."""
        return name

    def is_mine(self, _name: str) -> bool:
        """Whether the caller may hear of this, as far as namespaces go."""
        return True

    def words(self, text: str) -> str:
        """A message to the caller, in which names may stand."""
        return text

    def config_meant(self, key: str, value: str) -> str:
        """The value of a config, which may be a name."""
        return self.meant(value) if value and key in TOPIC_VALUED else value

    def config_told(self, key: str, value: str | None) -> str | None:
        """The reverse."""
        return self.told(value) if value and key in TOPIC_VALUED else value


EVERYBODYS = Names()


class TenantNames(Names):
    """Those of a tenant's caller."""

    def __init__(self, view: TenantView) -> None:
        self.tenant = view.tenant
        self._view = view

    def meant(self, name: str) -> str:
        """Within the namespace, whatever is said."""
        return self._view.name_read(name) or self._view.prefix

    def told(self, name: str) -> str:
        """As the tenant's clients know it."""
        return self._view.name_written(name) or ""

    def is_mine(self, name: str) -> bool:
        """Whether it is within the namespace."""
        return bool(name) and self._view.is_mine(name)

    def words(self, text: str) -> str:
        """Without what the tenant does not say itself."""
        return self._view.reason_written(text) or ""


@frozen(eq=False)
class Namespaces:
    """See the module."""

    tenants: Tenants
    topics: TopicView
    usages: Usages
    clock: Clock

    def row(self, caller: Caller) -> TenantRecord | None:
        """The tenant that a caller belongs to; refused if there is none of the name any more."""
        name = self.tenants.of(caller)
        if name is None:
            return None
        found = self.tenants.get(name)
        if found is None:
            raise ClusterAuthorizationFailed(f"{caller.principal} belongs to a tenant that there is not")
        return found

    def of(self, caller: Caller) -> Names:
        """What its names mean. At these doors there is no listener that says whether they are rewritten."""
        row = self.row(caller)
        return EVERYBODYS if row is None else TenantNames(VIEWS[row.rewrite](row.name, row.prefix, self.topics))

    async def charge(self, names: Names) -> None:
        """Count a request as the tenant's, and wait for its rate."""
        if names.tenant is None:
            return
        self.usages.of(names.tenant).requests += 1
        wait_s = self.usages.rates(names.tenant).use(REQUESTS, 1, self.clock.monotonic())
        if wait_s > 0:
            await trio.sleep(wait_s)
