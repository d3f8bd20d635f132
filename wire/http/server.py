"""The listener of the operations door: accepts within bounds and hands connections to what is loaded late.

A caller can cost the broker no more than its place among `http.max.connections`: requests are bounded in size and
time, and answers are made in slices so that Kafka's clients do not wait for them. When all places are taken, who keeps
us waiting for longest gives up its place: connections that say nothing never keep a probe out.
"""

import errno
import logging
import socket
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.http.config import HttpLimits
from wire.services import Services

if TYPE_CHECKING:
    from wire.http.application import Application
    from wire.http.connection import HttpConnection

logger = logging.getLogger("tidegate.http")

ACCEPTS_PER_TURN = 8


@define(eq=False)
class _Place:
    """Among the connections; without one while what serves it is loaded."""

    scope: trio.CancelScope = field(factory=trio.CancelScope)
    connection: "HttpConnection | None" = None

    @property
    def waiting_since(self) -> float | None:
        return None if self.connection is None else self.connection.waiting_since


class HttpServer:
    """One listening socket and its connections."""

    def __init__(self, services: Services, workers: Workers, limits: HttpLimits) -> None:
        self._services = services
        self._workers = workers
        self._limits = limits
        self._application: Application | None = None
        self._loading = trio.Lock()
        self._places: set[_Place] = set()
        self._accepted = 0
        self._refused = 0
        self._displaced = 0

    async def serve(self, listener: socket.socket) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        async with trio.open_nursery() as nursery:
            while True:
                await trio.lowlevel.wait_readable(listener)
                await self._accept(listener, nursery)

    async def _accept(self, listener: socket.socket, nursery: trio.Nursery) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                sock, address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                logger.error("cannot accept a connection: %s", error)
                await trio.sleep(0.1)
                return
            if len(self._places) >= self._limits.max_connections and not self._displace():
                self._refused += 1
                limit = self._limits.max_connections
                where = {"address": address[0]}
                logger.warning("connection refused: http.max.connections=%d is reached", limit, extra=where)
                sock.close()
                continue
            self._accepted += 1
            place = _Place()
            self._places.add(place)
            nursery.start_soon(self._run, sock, address[0], place)

    def _displace(self) -> bool:
        """Take its place from the caller that we wait for longest; False if all of them wait for us."""
        waiting = [(place.waiting_since, id(place), place) for place in self._places if place.waiting_since is not None]
        if not waiting:
            return False
        _, _, place = min(waiting)
        place.scope.cancel()
        self._places.remove(place)
        self._displaced += 1
        limit = self._limits.max_connections
        logger.info("a silent connection gives way to another: http.max.connections=%d is reached", limit)
        return True

    async def _run(self, sock: socket.socket, address: str, place: _Place) -> None:
        try:
            sock.setblocking(False)
            with place.scope:
                application = await self._loaded()
                stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
                place.connection = application.connection(stream, self._limits)
                await place.connection.run()
        except Exception:
            logger.exception("HTTP connection from %s failed", address)
        finally:
            self._places.discard(place)
            sock.close()

    async def _loaded(self) -> "Application":
        """The application; loaded in a thread, once, by the first caller."""
        async with self._loading:
            if self._application is None:
                self._application = await in_worker(self._workers, _load, self._services)
        return self._application

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return {
            "connections": len(self._places),
            "accepted": self._accepted,
            "refused": self._refused,
            "displaced": self._displaced,
        }

    def answered(self) -> dict[tuple[str, str, int], int]:
        """How many requests were answered, by method, route and status."""
        return {} if self._application is None else dict(self._application.answered)


def _load(services: Services) -> "Application":
    from wire.http.application import load_application

    return load_application(services)
