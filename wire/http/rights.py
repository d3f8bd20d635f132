"""What rights a route asks its callers for: data, declared as `rights` with each route.

They are asked before the handler runs, and before it is looked up whether what the path names exists. Lists of
everything, and figures about the broker as a whole, are for those who may describe the cluster.
"""

from typing import TYPE_CHECKING

from attrs import frozen

from coordinators.access.access import AccessControl, Right
from coordinators.access.acls import CLUSTER_NAME, ResourceKind
from coordinators.access.rights import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from wire.http.messages import Call


@frozen
class RouteRights:
    """Any of these rights will do, to the resource that a parameter of the path or a member of the body names."""

    rights: tuple[Right, ...] = ()
    place: str | None = None
    body: str | None = None

    def require(self, call: "Call", access: AccessControl, asked: str) -> None:
        """Raise the refusal unless the caller has one of them."""
        if not self.rights:
            return
        name = self._name(call)
        others = [right for right in self.rights[1:] if access.permits(call.caller, right, _for(right, name))]
        right = others[0] if others else self.rights[0]
        access.require(call.caller, right, _for(right, name), asked)

    def _name(self, call: "Call") -> str:
        if self.place is not None:
            return str(getattr(call.place, self.place))
        return CLUSTER_NAME if self.body is None else str(getattr(call.body, self.body))


def _for(right: Right, name: str) -> str:
    return CLUSTER_NAME if right.resource is ResourceKind.CLUSTER else name


def on(rights: Right | tuple[Right, ...], place: str | None = None, *, body: str | None = None) -> RouteRights:
    """Rights to what the path or the body names; without either, to the cluster."""
    return RouteRights(rights if isinstance(rights, tuple) else (rights,), place, body)


OPEN = RouteRights()
"""Whoever is let in may ask it: it tells nothing of what the broker holds."""
BY_REQUESTS = RouteRights()
"""What it does it asks for in the caller's name, as a Kafka client would: the rights are those of the requests."""
DESCRIBE_THE_CLUSTER = on(DESCRIBE_CLUSTER)
