"""The operations door, composed: what it is shown of the broker, and when it is open.

It opens before the logs are recovered and closes after they are closed, so that probes are answered meanwhile.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from attrs import define

from engine.config.resolve import BrokerSettings
from engine.metrics import Metrics
from tidegate.listening import BoundHttp, BoundListener
from wire.http.server import HttpServer
from wire.http.surroundings import HttpLimits, Phase, Surroundings
from wire.kafka.node import Node

BACKLOG = 128


@define(eq=False)
class Operations:
    """The door, or its absence, and in which phase it shows the broker."""

    surroundings: Surroundings
    server: HttpServer | None
    bound: BoundHttp | None

    @classmethod
    def compose(
        cls, node: Node, metrics: Metrics, bound: BoundHttp | None, listeners: list[BoundListener]
    ) -> "Operations":
        """For a broker that is about to start."""
        surroundings = Surroundings(
            version=_version,
            node_id=node.node_id,
            cluster_id=node.cluster_id,
            rack=node.rack,
            addresses=tuple(_advertised(listener) for listener in listeners),
            topics=node.topics,
            partitions=node.partitions,
            controller=node.controller,
            groups=node.groups,
            transactions=node.transactions,
            clock=node.clock,
            workers=node.workers,
            metrics=metrics,
            started_ms=node.clock.now_ms(),
        )
        server = None
        if bound is not None:
            server = HttpServer(surroundings, _limits(node.topics.settings), bound.access)
        return cls(surroundings, server, bound)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Serve for the length of the block."""
        async with trio.open_nursery() as nursery:
            if self.bound is not None and self.server is not None:
                self.bound.socket.listen(BACKLOG)
                nursery.start_soon(self.server.serve, self.bound.socket)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()

    def enter(self, phase: Phase) -> None:
        """The broker is ready, or stops."""
        self.surroundings.phase = phase


def _version() -> str:
    import tidegate

    return tidegate.__version__


def _advertised(listener: BoundListener) -> tuple[str, int]:
    if listener.endpoint is not None:
        return listener.endpoint.host, listener.endpoint.port
    host, port = listener.socket.getsockname()[:2]
    return host, port


def _limits(settings: BrokerSettings) -> HttpLimits:
    return HttpLimits(
        max_connections=settings.integer("http.max.connections"),
        max_request_bytes=settings.integer("http.max.request.bytes"),
        max_header_bytes=settings.integer("http.max.header.bytes"),
        request_timeout_s=settings.integer("http.request.timeout.ms") / 1000,
        max_idle_s=settings.integer("http.max.idle.ms") / 1000,
    )
