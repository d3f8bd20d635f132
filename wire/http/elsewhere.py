"""Where a member or a producer lives: its caller is sent to that node's door, with the same request.

What lives on another node is answered with a redirection (307) to the operations door of that node, which the node
itself tells (`http.advertised.url`). Many clients do not send their credentials on to another address: so what is made
is told with the URL by which it is to be asked for from then on.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from attrs import define, field

from coordinators.access.callers import NODE
from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import LinkBroken
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError
from wire.http.messages import Call
from wire.http.problems import Problem
from wire.inner.asking import InnerClient
from wire.inner.homes import Elsewhere
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

DOOR_KEY = "http.advertised.url"
BROKER_RESOURCE = 4
KNOWN_S = 30.0


@define(eq=False)
class Doors:
    """The operations doors of the cluster's nodes."""

    inner: InnerClient
    nodes: Nodes
    settings: BrokerSettings
    clock: Clock
    _known: dict[int, tuple[str, float]] = field(factory=dict, init=False)

    def own_url(self, call: Call) -> str:
        """Where this node's door is, for the caller: as it is told to everybody, or as it has called it."""
        host = call.request.headers.get("host")
        url = self.settings[DOOR_KEY]
        if isinstance(url, str) and url:
            return url.rstrip("/")
        return f"http://{host}" if host else ""

    async def url_of(self, node_id: int) -> str | None:
        """Where another node's door is; None if it has none, or is not there."""
        known = self._known.get(node_id)
        if known is not None and self.clock.monotonic() < known[1]:
            return known[0]
        url = await self._asked(node_id) if node_id in self.nodes.by_id else None
        if url:
            self._known[node_id] = url, self.clock.monotonic() + KNOWN_S
        return url or None

    async def _asked(self, node_id: int) -> str | None:
        resource = DescribeConfigsResource(BROKER_RESOURCE, str(node_id), [DOOR_KEY])
        try:
            with self.inner.guest(NODE, "http") as guest:
                answer = await self.inner.ask(guest, DescribeConfigsRequest([resource]), node_id=node_id, timeout_s=2.0)
        except (LinkBroken, BrokerError):
            return None
        found = (each.value for result in answer.results for each in result.configs if each.name == DOOR_KEY)
        return next(found, None)

    @asynccontextmanager
    async def at_home(self, call: Call) -> AsyncIterator[None]:
        """Within it, what lives elsewhere becomes a redirection."""
        try:
            yield
        except Elsewhere as error:
            raise await self._sent_on(call, error) from None

    async def _sent_on(self, call: Call, error: Elsewhere) -> Problem:
        url = await self.url_of(error.node_id)
        if url is None:
            detail = f"{error}, which is not there, or has no operations door; make another one"
            return Problem(HTTPStatus.NOT_FOUND, detail, error="NotAtHome")
        location = url.rstrip("/") + call.request.target
        detail = f"{error}: ask for it at {url}"
        return Problem(HTTPStatus.TEMPORARY_REDIRECT, detail, headers={"Location": location}, error="Elsewhere")
