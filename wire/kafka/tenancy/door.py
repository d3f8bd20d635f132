"""Which tenant a connection belongs to, and how its requests are served therefore.

The tenant is the one that the listener is bound to, that the caller's token names, or whose row lists the caller. Two
that differ, or one that there is not, end the connection at its first request: nobody is served as somebody else, nor
as nobody's, because something is missing.
"""

import logging
from collections.abc import Mapping
from typing import Protocol

from attrs import define, field, frozen

from coordinators.access.access import AccessControl
from coordinators.access.administration import AclAdministration
from coordinators.access.callers import NODE, Caller
from coordinators.tenants.rows import TenantRecord
from coordinators.tenants.tenants import Tenants
from coordinators.tenants.usage import Usages
from coordinators.topics import Topics
from engine.clock import Clock
from engine.metrics import Histogram
from wire.kafka.apis import Api
from wire.kafka.codec import WireError
from wire.kafka.request import Peer
from wire.kafka.request_bounds import RequestBounds
from wire.kafka.rights import Handle
from wire.kafka.served_apis import ServedApi
from wire.kafka.tenancy.acls import tenant_handle
from wire.kafka.tenancy.charges import TenantCharges
from wire.kafka.tenancy.served import TenantServedApis
from wire.kafka.tenancy.view import VIEWS, TenantView
from wire.services import Services

logger = logging.getLogger("tidegate.tenants")

Served = Mapping[tuple[int, int], ServedApi | None]


class BoundConnection(Protocol):
    """A connection that is served as its tenant's."""

    peer: Peer

    def bind(self, caller: Caller) -> None:
        """Be served as to the tenant of this caller."""


@frozen
class ListenerTenancy:
    """What a listener says of the tenants that come by it."""

    tenant: str | None = None
    """All who come by it belong to this one."""
    rewrite: bool = False
    """Whether names are without the prefix here, for tenants whose row does not say so anyhow."""


class _Refused(dict[tuple[int, int], ServedApi | None]):
    """Serves nothing, and says why."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self._reason = reason

    def __missing__(self, _: tuple[int, int]) -> ServedApi | None:
        raise WireError(self._reason)


@define(eq=False)
class TenantDoor:
    """See the module."""

    apis: Mapping[int, Api]
    latencies: Mapping[int, Histogram]
    topics: Topics
    usages: Usages
    clock: Clock
    acls: AclAdministration
    bounds: RequestBounds
    listeners: dict[int, ListenerTenancy] = field(factory=dict, init=False)
    """By their numbers, those that say something."""
    _served: dict[tuple[str, bool], TenantServedApis] = field(factory=dict, init=False)
    _bound: dict[int, str] = field(factory=dict, init=False)
    """By the ids of connections, for which tenant they are counted."""

    @classmethod
    def of(
        cls,
        services: Services,
        apis: Mapping[int, Api],
        latencies: Mapping[int, Histogram],
        clock: Clock,
        bounds: RequestBounds,
    ) -> "TenantDoor":
        """With a broker's services."""
        topics, usages, acls = services[Topics], services[Usages], services[AclAdministration]
        return cls(apis, latencies, topics, usages, clock, acls, bounds)

    @property
    def access(self) -> AccessControl:
        """Who may do what."""
        return self.acls.access

    @property
    def tenants(self) -> Tenants:
        """Those that there are."""
        return self.topics.tenants

    def begin(self, connections: Mapping[int, "BoundConnection"]) -> None:
        """Follow what becomes of tenants; these connections are served accordingly."""

        def follow() -> None:
            # First whose they are now: what is forgotten of a tenant must not be counted down afterwards.
            for connection in tuple(connections.values()):
                connection.bind(connection.peer.caller)
            self.follow()

        follow()
        self.tenants.on_change.append(follow)

    def follow(self) -> None:
        """Obey the limits as they are now, and keep nothing of tenants that are no more."""
        for row in self.tenants:
            self.usages.rates(row.name).obey(row.limits)
        for name, rewrite in tuple(self._served):
            if self.tenants.get(name) is None:
                del self._served[name, rewrite]
                self.usages.forget(name)

    def bind(self, peer: Peer, caller: Caller) -> Served | None:
        """How the requests of a connection, which are this caller's, are served from now on; None if it belongs to no
        tenant, and never did."""
        if caller is NODE:
            self.unbind(peer)
            return None
        if not (self.tenants.is_any_known or self.listeners or caller.tenant is not None):
            return self._as_nobodys(peer, caller)
        here = self.listeners.get(peer.listener, ListenerTenancy())
        own = self.tenants.of(caller)
        name = here.tenant or own
        if name is None:
            return self._as_nobodys(peer, caller)
        if own is not None and own != name:
            return self._refuse(peer, f"{caller.principal} belongs to another tenant than the listener's, {name}")
        row = self.tenants.get(name)
        if row is None:
            return self._refuse(peer, f"there is no tenant {name!r}: 'tidegate tenant create {name}' makes it")
        if not self._count(peer, row):
            return self._refuse(peer, f"tenant {name} has {row.limits.connections} connections, which is its limit")
        peer.tenant = name
        peer.was_tenants = True
        return self._served_to(row, row.rewrite or here.rewrite)

    def unbind(self, peer: Peer) -> None:
        """The connection is gone, or no tenant's any more."""
        peer.tenant = None
        name = self._bound.pop(peer.connection_id, None)
        if name is not None:
            self.usages.of(name).connections -= 1

    def _count(self, peer: Peer, row: TenantRecord) -> bool:
        """Count a connection as the tenant's; whether it may have one more."""
        if self._bound.get(peer.connection_id) == row.name:
            return True
        self.unbind(peer)
        usage, most = self.usages.of(row.name), row.limits.connections
        if most is not None and usage.connections >= most:
            usage.refused_connections += 1
            return False
        usage.connections += 1
        self._bound[peer.connection_id] = row.name
        return True

    def _refuse(self, peer: Peer, reason: str) -> Served:
        self.unbind(peer)
        return _Refused(reason)

    def _as_nobodys(self, peer: Peer, caller: Caller) -> Served | None:
        """Within no namespace; but never a connection that was within one: its tenant is gone, or lists it no more."""
        if peer.was_tenants:
            return self._refuse(peer, f"{caller.principal} belongs to no tenant any more")
        self.unbind(peer)
        return None

    def _served_to(self, row: TenantRecord, rewrite: bool) -> Served:
        place = row.name, rewrite
        served = self._served.get(place)
        if served is None:
            view = VIEWS[rewrite](row.name, row.prefix, self.topics.view)
            charges = TenantCharges(self.usages.of(row.name), self.usages.rates(row.name), self.clock)
            served = self._served[place] = TenantServedApis(
                self.apis, self.latencies, view, charges, self.access, self._rules, self.bounds
            )
        return served

    def _rules(self, api: Api, view: TenantView) -> Handle:
        return tenant_handle(api, view, self.acls, self.tenants)
