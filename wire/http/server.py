"""The listener of the operations door: accepts within bounds and hands connections to what is loaded late.

A caller can cost the broker no more than its place among `http.max.connections`: requests are bounded in size and
time, and answers are made in slices so that Kafka's clients do not wait for them. When all places are taken, the
connection that has been silent for longest loses its place: so silent connections never keep a probe out. Who is sent
a stream of records has a place among others (`streams.py`).
"""

import logging
import socket
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import trio
from attrs import define, field

from coordinators.access.callers import Caller
from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.acceptor import Acceptor, ConnectionLimits, displace
from wire.http.callers import Reception, Visitor
from wire.http.config import HttpLimits
from wire.http.streams import Streams
from wire.services import Services
from wire.tls.arriving import NoHandshake, encrypted
from wire.tls.identity import TlsIdentity
from wire.transport import Transport

if TYPE_CHECKING:
    from wire.http.connection import HttpConnection

logger = logging.getLogger("tidegate.http")

MOMENT_S = 0.2
"""So long those who come wait for a place if all of those who have one were busy just now."""
GRACE_S, CHECK_S = 1.0, 0.01
"""How long requests may go on when the broker stops, and how often it is looked whether they do."""


class HttpApplication(Protocol):
    """What serves connections, once it is loaded."""

    answered: Counter[tuple[str, str, int]]
    """How many requests, by method, route and status."""

    def connection(
        self, transport: Transport, limits: HttpLimits, visitor: Visitor, streams: Streams, /
    ) -> "HttpConnection":
        """One connection, to be run."""

    async def carried(self, caller: Caller, data: bytes, /) -> bytes:
        """The answer to a call that came to another node's door."""


def _load(services: Services) -> HttpApplication:
    from wire.http.application import load_application

    return load_application(services)


@define(eq=False)
class _Caller:
    """One connection; without one while what serves it is loaded."""

    server: "HttpServer"
    transport: Transport
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    connection: "HttpConnection | None" = None

    begun: float = field(factory=trio.current_time)
    """When it came, until there is a connection: a handshake is the caller's to get on with."""

    @property
    def waiting_since(self) -> float | None:
        return self.begun if self.connection is None else self.connection.waiting_since

    @property
    def turned_at(self) -> float:
        """When it was last one side's turn and then the other's."""
        return self.begun if self.connection is None else self.connection.turned_at

    @property
    def is_answering(self) -> bool:
        """Whether it is owed an answer that is given as a whole."""
        return self.connection is not None and self.connection.is_answering

    async def run(self) -> None:
        with self.scope:
            arrived = await self.server.arrived(self.transport)
            if arrived is not None:
                self.connection = await self.server.connection(*arrived)
                await self.connection.run()


class HttpServer:
    """One listening socket and its connections."""

    def __init__(
        self,
        services: Services,
        workers: Workers,
        limits: HttpLimits,
        tls: TlsIdentity | None = None,
        load: Callable[[Services], HttpApplication] = _load,
        name: str = "http",
    ) -> None:
        self._load = load
        self._limit_key = f"{name}.max.connections"
        self._tls = tls
        self._services = services
        self._workers = workers
        self._limits = limits
        self._application: HttpApplication | None = None
        self._loading = trio.Lock()
        most = ConnectionLimits(limits.max_connections, self._limit_key)
        self._streams = Streams(limits.max_streams, limits.max_unsent_bytes)
        self._acceptor: Acceptor[_Caller] = Acceptor(most, logger, self._displace, self._set_apart, self._is_room_near)
        self._callers = self._acceptor.connections
        self._displaced = 0
        self._is_leaving = False

    async def serve(self, listener: socket.socket) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        await self._acceptor.serve(listener, lambda transport, _: _Caller(self, transport))

    async def arrived(self, transport: Transport) -> tuple[Transport, Visitor] | None:
        """Who comes, once what it says is encrypted where it has to be; None if that does not come about."""
        tls = self._tls
        if tls is None:
            return transport, Visitor(transport.address[0])
        try:
            safe, principal = await encrypted(transport, tls)
        except NoHandshake as reason:
            self._acceptor.ended["no TLS"] += 1
            logger.info("a caller is not let in: %s", reason, extra={"address": transport.address[0]})
            return None
        return safe, Visitor(transport.address[0], principal)

    async def connection(self, transport: Transport, visitor: Visitor) -> "HttpConnection":
        """A connection, to be run; the first has what serves it loaded."""
        application = await self._loaded()
        connection = application.connection(transport, self._limits, visitor, self._streams)
        if self._is_leaving:
            connection.leave()
        return connection

    async def carried(self, caller: Caller, data: bytes) -> bytes:
        """The answer to a call that came to another node's door."""
        return await (await self._loaded()).carried(caller, data)

    def _set_apart(self) -> int:
        return self._streams.count

    def _is_room_near(self) -> bool:
        """Whether some callers were busy just now, and none has been silent for long enough to give way: then all who
        come at once are served, some a moment later."""
        now = trio.current_time()
        silent = [each.waiting_since for each in self._callers.values() if each.waiting_since is not None]
        if silent and min(silent) < now - MOMENT_S:
            return False
        return any(each.turned_at >= now - MOMENT_S for each in self._callers.values())

    async def drain(self) -> None:
        """Let requests that are carried out be answered, for a moment: whoever hears nothing of a record does not know
        whether it was written. What goes on for long is cut off."""
        self._is_leaving = True
        for caller in self._callers.values():
            if caller.connection is not None:
                caller.connection.leave()
        with trio.move_on_after(GRACE_S):
            while any(each.is_answering for each in self._callers.values()):  # noqa: ASYNC110
                await trio.sleep(CHECK_S)

    def _displace(self) -> bool:
        """Take its place from the caller that we wait for longest; False if all of them wait for us."""
        if not displace(self._callers):
            return False
        self._displaced += 1
        limit = self._limits.max_connections
        logger.info("a silent connection gives way to another: %s=%d is reached", self._limit_key, limit)
        return True

    async def _loaded(self) -> HttpApplication:
        """The application; loaded in a thread, once, by the first caller."""
        async with self._loading:
            if self._application is None:
                self._application = await in_worker(self._workers, self._load, self._services)
        return self._application

    @property
    def refused_logins(self) -> int:
        """Passwords and tokens that were wrong."""
        return self._services[Reception].refused

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return {**self._acceptor.statistics(), "displaced": self._displaced, **self._streams.statistics()}

    def answered(self) -> dict[tuple[str, str, int], int]:
        """How many requests were answered, by method, route and status."""
        return {} if self._application is None else dict(self._application.answered)
