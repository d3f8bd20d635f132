"""Where a member or a producer lives: a call about one that lives on another node is carried there, in the name of
whoever calls, and answered as that node answers. What waits in a partition lives where the partition is led.

A redirection would lose who calls: many clients do not send their credentials on to another address, and behind a
balancer, or for a page in a browser, there may be none. What is made is told with the URL of its own node all the same:
to ask there saves the way.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from attrs import define

from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import LinkBroken
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError, NotLeader
from wire.http.carried import Answered, written_call
from wire.http.messages import Call
from wire.http.problems import Problem
from wire.inner.asking import InnerClient
from wire.inner.homes import Elsewhere

DOOR, DOOR_KEY = "http", "http.advertised.url"
ANSWER_S = 40.0
"""How long another node may take: a poll waits up to 30 s for records."""


@define(eq=False)
class Doors:
    """The operations doors of the cluster's nodes."""

    inner: InnerClient
    nodes: Nodes
    settings: BrokerSettings

    def own_url(self, call: Call) -> str:
        """Where this node's door is, for the caller: as it is told to everybody, or as it has called it."""
        host = call.request.headers.get("host")
        url = self.settings[DOOR_KEY]
        if isinstance(url, str) and url:
            return url.rstrip("/")
        return f"http://{host}" if host else ""

    @asynccontextmanager
    async def at_home(self, call: Call) -> AsyncIterator[None]:
        """Within it, a call about what lives elsewhere is answered by its node."""
        try:
            yield
        except Elsewhere as error:
            raise await self._carried(call, error) from None

    @asynccontextmanager
    async def where_led(self, call: Call, topic: str, partition: int | None) -> AsyncIterator[None]:
        """The same of what waits in a partition, which its leader knows; without a number, of what there is here."""
        async with self.at_home(call):
            if partition is not None:
                self._check_leads(call, topic, partition)
            yield

    def _check_leads(self, call: Call, topic: str, partition: int) -> None:
        with self.inner.guest(call.caller, DOOR) as guest:
            leader = self.inner.leader(guest, topic, partition)
        if leader < 0:
            raise NotLeader(f"nobody leads {topic}-{partition} now: ask again")
        if leader != self.inner.topics.node_id:
            raise Elsewhere(f"{topic}-{partition} is led by node {leader}", leader)

    async def _carried(self, call: Call, error: Elsewhere) -> Problem:
        """What its node answers to the same request, as this one's answer."""
        if call.request.is_carried:
            detail = f"{error}: what lives on several nodes is asked for in requests of its own"
            return Problem(HTTPStatus.CONFLICT, detail, error="Elsewhere")
        if error.node_id not in self.nodes.by_id:
            detail = f"{error}, which is not there; make another one"
            return Problem(HTTPStatus.NOT_FOUND, detail, error="NotAtHome")
        asked = written_call(call.request)
        try:
            return Answered(await self.inner.carrying.call(error.node_id, call.caller, DOOR, asked, ANSWER_S))
        except (LinkBroken, BrokerError) as reason:
            detail = f"{error}, and it cannot be asked: {reason}; it is not known what became of the request"
            headers = {"Retry-After": "1"}
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers=headers, error="Elsewhere")
