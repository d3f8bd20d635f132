"""The operations door, composed: what it is shown of the broker, and when it is open.

It opens before the logs are recovered and closes after they are closed, so that probes are answered meanwhile.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio
from attrs import define

from engine.config.resolve import BrokerSettings
from engine.metrics import Metrics
from tidegate.descriptors import DescriptorPlan
from tidegate.listening import BoundHttp, BoundListener
from tidegate.metrics import LifeMetrics, ScrubMetrics, register_node, register_server
from tidegate.node import Node
from tidegate.scrubbing import Scrubbing
from wire.http.server import HttpServer
from wire.http.surroundings import HttpLimits, Phase, Surroundings
from wire.kafka.refused_headers import RefusedHeaders
from wire.kafka.server import KafkaServer

logger = logging.getLogger("tidegate")

BACKLOG = 128


@define(eq=False)
class Operations:
    """The door, or its absence, and in which phase it shows the broker."""

    surroundings: Surroundings
    server: HttpServer | None
    bound: BoundHttp | None
    life: LifeMetrics

    @classmethod
    def compose(
        cls,
        node: Node,
        metrics: Metrics,
        bound: BoundHttp | None,
        listeners: Sequence[BoundListener],
        descriptors: DescriptorPlan,
        scrubbing: Scrubbing,
    ) -> "Operations":
        """For a broker that is about to start."""
        surroundings = Surroundings(
            version=_version,
            node_id=node.identity.node_id,
            cluster_id=node.identity.cluster_id,
            rack=node.identity.rack,
            addresses=tuple(_advertised(listener) for listener in listeners),
            topics=node.topics,
            partitions=node.partitions,
            controller=node.controller,
            groups=node.groups,
            transactions=node.transactions,
            tracing=node.tracing,
            releases=node.releases,
            clock=node.clock,
            workers=node.workers,
            metrics=metrics,
            scrubber=scrubbing.scrubber,
            start_scrub=scrubbing.start_pass,
            needs_token=bound is not None and bound.access.token is not None,
            started_ms=node.clock.now_ms(),
            started_s=node.clock.monotonic(),
        )
        server = None
        if bound is not None:
            server = HttpServer(surroundings, _limits(node.topics.settings, descriptors), bound.access)
        life = LifeMetrics(_version, node.identity.node_id, server)
        metrics.register(life.collect)
        register_node(metrics, node)
        metrics.register(ScrubMetrics(scrubbing.scrubber).collect)
        return cls(surroundings, server, bound, life)

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

    def recovered(self, took_s: float, *, clean: bool) -> None:
        """The logs are open."""
        partitions = list(self.surroundings.partitions)
        reports = [each.log.recovery for each in self.surroundings.partitions.with_stages()]
        self.life.recovery_s = took_s
        self.life.recovered_bytes = sum(report.scanned_bytes for report in reports)
        self.life.set_aside_bytes = sum(report.set_aside_bytes for report in reports)
        figures = {"partitions": len(partitions), "seconds": round(took_s, 3), "clean": clean}
        logger.info("the logs are open", extra={**figures, "scanned_bytes": self.life.recovered_bytes})

    def serves(self, server: KafkaServer, refused_headers: RefusedHeaders) -> None:
        """Kafka's clients are let in."""
        register_server(self.surroundings.metrics, server, refused_headers)
        self.surroundings.connection_count = lambda: len(server.connections)
        self.enter(Phase.READY)

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


def _limits(settings: BrokerSettings, descriptors: DescriptorPlan) -> HttpLimits:
    return HttpLimits(
        max_connections=descriptors.http_connections,
        max_request_bytes=settings.integer("http.max.request.bytes"),
        max_header_bytes=settings.integer("http.max.header.bytes"),
        request_timeout_s=settings.integer("http.request.timeout.ms") / 1000,
        max_idle_s=settings.integer("http.max.idle.ms") / 1000,
    )
