"""Where a member or a producer lives: a call about one that lives on another node is carried there, in the name of
whoever calls, and answered as that node answers. What waits in a partition lives where the partition is led.

A redirection would lose who calls: many clients do not send their credentials on to another address, and behind a
balancer, or for a page in a browser, there may be none. What is made is told with the URL of its own node all the same:
to ask there saves the way.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import urlencode

import msgspec
import trio
from attrs import define

from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import LinkBroken
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError, CoordinatorNotAvailable, NotLeader, UnknownTopicOrPartition
from wire.http.carried import Answered, written_call
from wire.http.messages import MAX_LIMIT, Call, Page, Request
from wire.http.problems import Problem
from wire.inner.asking import InnerClient
from wire.inner.homes import Elsewhere

T = TypeVar("T")
P = TypeVar("P", bound=Page)
DOOR, DOOR_KEY = "http", "http.advertised.url"
ANSWER_S = 40.0
"""How long another node may take: a poll waits up to 30 s for records."""
TOLD_S = 3.0
"""The same where this node answers by itself otherwise."""


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
        """The same of what waits in a partition, which its leader knows; a call about all of them is answered here."""
        async with self.at_home(call):
            if partition is not None:
                self._check_leads(call, topic, partition)
            yield

    @asynccontextmanager
    async def where_coordinated(self, call: Call, topic: str, key: str) -> AsyncIterator[None]:
        """The same of what belongs to a key of an internal topic, a group, say: who leads its partition knows it."""
        async with self.at_home(call):
            node_id = self.inner.internal_topics.coordinator_of(topic, key)
            if node_id < 0:
                raise CoordinatorNotAvailable("nobody coordinates it now: ask again")
            if node_id != self.inner.topics.node_id:
                raise Elsewhere(f"it is coordinated by node {node_id}", node_id)
            yield

    def other_leaders(self, call: Call, topic: str) -> list[int]:
        """The other nodes that lead partitions of a topic; nobody where one of them was asked by another node."""
        if call.request.is_carried:
            return []
        with self.inner.guest(call.caller, DOOR) as guest:
            found = self.inner.topic(guest, topic)
        leaders = {each.leader for each in found.partitions} if found is not None else set()
        if min(leaders, default=0) < 0:
            raise NotLeader(f"nobody leads some partitions of {topic} now: ask again")
        return sorted(leaders - {self.inner.topics.node_id})

    async def told_by(self, node_id: int, call: Call, kind: type[T]) -> T | None:
        """What another node answers to the same call, if it does so soon; None where another node asks already."""
        if call.request.is_carried:
            return None
        part = await self._part(node_id, call, written_call(call.request), kind, TOLD_S)
        return None if isinstance(part, Problem) else part

    async def ask_each(self, nodes: Sequence[int], call: Call, query: Mapping[str, object], kind: type[T]) -> list[T]:
        """What each of these nodes answers to the same call with this query; raises if one of them does not."""
        told = await self._ask(nodes, call, query, kind)
        parts = []
        for node_id in nodes:
            part = told[node_id]
            if isinstance(part, Problem):
                raise part
            parts.append(part)
        return parts

    async def ask_others(self, call: Call, query: Mapping[str, object], kind: type[T]) -> tuple[list[T], list[int]]:
        """What all other nodes answer to it, and which of them do not."""
        nodes = sorted(self.nodes.by_id.keys() - {self.inner.topics.node_id})
        told = await self._ask(nodes, call, query, kind)
        parts = [part for part in told.values() if not isinstance(part, Problem)]
        return parts, [node_id for node_id in nodes if isinstance(told[node_id], Problem)]

    async def pages_of_others(
        self, call: Call, query: Mapping[str, object], kind: type[P]
    ) -> tuple[list[P], list[int]]:
        """The same of all pages of a list. Nobody where another node is who asks: it asks everybody itself."""
        if call.request.is_carried:
            return [], []
        pages: list[P] = []
        missing: set[int] = set()
        skip, reached = 0, 1
        while skip < reached:
            some, silent = await self.ask_others(call, {**query, "limit": MAX_LIMIT, "skip": skip}, kind)
            pages += some
            missing.update(silent)
            skip, reached = skip + MAX_LIMIT, max((page.total for page in some), default=0)
        return pages, sorted(missing)

    async def _ask(
        self, nodes: Sequence[int], call: Call, query: Mapping[str, object], kind: type[T]
    ) -> dict[int, T | Problem]:
        target = f"{call.request.target.partition('?')[0]}?{urlencode(query)}"
        asked = written_call(Request("GET", target))
        told: dict[int, T | Problem] = {}

        async def ask(node_id: int) -> None:
            told[node_id] = await self._part(node_id, call, asked, kind)

        async with trio.open_nursery() as nursery:
            for node_id in nodes:
                nursery.start_soon(ask, node_id)
        return told

    async def _part(
        self, node_id: int, call: Call, asked: bytes, kind: type[T], patience_s: float = ANSWER_S
    ) -> T | Problem:
        try:
            answered = Answered(await self.inner.carrying.call(node_id, call.caller, DOOR, asked, patience_s))
        except (LinkBroken, BrokerError) as reason:
            detail = f"node {node_id} knows a part of this and cannot be asked: {reason}"
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": "1"}, error="Elsewhere")
        if answered.answer.status != HTTPStatus.OK:
            return answered
        return msgspec.json.decode(answered.answer.body, type=kind)

    def _check_leads(self, call: Call, topic: str, partition: int) -> None:
        try:
            with self.inner.guest(call.caller, DOOR) as guest:
                leader = self.inner.leader(guest, topic, partition)
        except UnknownTopicOrPartition:
            return  # whoever looks for it says so
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
