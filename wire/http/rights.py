"""What rights a route asks its callers for: data, declared as `rights` with each route.

They are asked before the handler runs, and before it is looked up whether what the path names exists. Figures about the
broker as a whole are for those who may describe the cluster. Of lists of topics and groups everybody gets those that it
may describe, as from Kafka's own lists.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from attrs import frozen

from coordinators.access.access import AccessControl, Right
from coordinators.access.acls import CLUSTER_NAME, ResourceKind
from coordinators.access.rights import DESCRIBE_CLUSTER
from coordinators.waiting import Breathing

if TYPE_CHECKING:
    from wire.http.messages import Call


T = TypeVar("T")


@frozen
class RouteRights:
    """Any of these rights will do, to the resource that a parameter of the path or a member of the body names."""

    rights: tuple[Right, ...] = ()
    place: str | None = None
    body: str | None = None
    listed: Right | None = None
    """Asked for each item of a list by the handler (`described`): who lacks it for some gets the others."""
    told: str = ""
    """What docs/rights.md says where nothing is asked for before the handler runs."""

    def require(self, call: "Call", access: AccessControl, asked: str) -> None:
        """Raise the refusal unless the caller has one of them."""
        if not self.rights:
            return
        name = self._name(call)
        others = [right for right in self.rights[1:] if access.permits(call.caller, right, _for(right, name))]
        right = others[0] if others else self.rights[0]
        access.require(call.caller, right, _for(right, name), asked)

    def _name(self, call: "Call") -> str:
        said = getattr(call.place, self.place) if self.place is not None else None
        if self.body is not None:
            said = getattr(call.body, self.body)
        return CLUSTER_NAME if said is None else call.names.meant(str(said))


def _for(right: Right, name: str) -> str:
    return CLUSTER_NAME if right.resource is ResourceKind.CLUSTER else name


def on(rights: Right | tuple[Right, ...], place: str | None = None, *, body: str | None = None) -> RouteRights:
    """Rights to what the path or the body names; without either, to the cluster."""
    return RouteRights(rights if isinstance(rights, tuple) else (rights,), place, body)


OPEN = RouteRights(told="none")
"""Whoever is let in may ask it: it tells nothing of what the broker holds."""
BY_REQUESTS = RouteRights(told="same as over Kafka")
"""What it does it asks for in the caller's name, as a Kafka client would: the rights are those of the requests."""
OF_ITS_OWNER = RouteRights(told="owner only")
"""The handler finds what the request names only for the caller that it was given to, who was asked for rights then."""


def each_of(right: Right) -> RouteRights:
    """Whoever is let in may ask for the list, and is told of those that it has this right to."""
    return RouteRights(listed=right)


DESCRIBE_THE_CLUSTER = on(DESCRIBE_CLUSTER)


async def described(
    call: "Call",
    access: AccessControl,
    right: Right,
    items: Iterable[T],
    name_of: Callable[[T], str],
    breathing: Breathing,
) -> list[T]:
    """Those of the items that the caller may be told of: all of its namespace where it may describe the cluster."""
    names, is_open = call.names, not access.is_enforced or access.permits(call.caller, DESCRIBE_CLUSTER)
    if is_open and names.tenant is None:
        return list(items)
    found = []
    for item in items:
        name = name_of(item)
        if names.is_mine(name) and (is_open or access.permits(call.caller, right, name)):
            found.append(item)
        await breathing.did()
    return found
