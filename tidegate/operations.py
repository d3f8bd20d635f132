"""The operations door, composed: what it is shown of the broker, and when it is open.

It opens before the logs are recovered and closes after they are closed, so that probes are answered meanwhile.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio
from attrs import define

from coordinators.records.refused_headers import RefusedHeaders
from coordinators.scrubbing import Scrubbing
from engine.config.resolve import BrokerSettings
from engine.metrics import Metrics
from engine.partition.partitions import Partitions
from tidegate.config import DOOR_NAME
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.listening import BoundDoor, Listening
from tidegate.metrics import ScrubMetrics, StartMetrics, register_node
from tidegate.node import Node
from tidegate.reception import receive
from wire.http.config import HttpLimits, StreamTimes
from wire.http.life import Life, Phase
from wire.http.server import HttpServer
from wire.inner.metrics import ResidentMetrics
from wire.inner.residents import Residents
from wire.kafka.listeners import parse_listener
from wire.kafka.metrics import KafkaMetrics
from wire.kafka.nodes.carried import CarriedRequests
from wire.kafka.server import KafkaServer

logger = logging.getLogger("tidegate")

BACKLOG = 128


@define(eq=False)
class Operations:
    """The door, or its absence, and in which phase it shows the broker."""

    server: HttpServer | None
    bound: BoundDoor | None
    life: Life
    start: StartMetrics
    partitions: Partitions

    @classmethod
    def compose(
        cls,
        node: Node,
        metrics: Metrics,
        scrubbing: Scrubbing,
        kafka: KafkaServer,
        listeners: Sequence[Listening],
        bound: BoundDoor | None,
        limits: HttpLimits,
    ) -> "Operations":
        """For a broker that is about to start."""
        addresses = tuple(_advertised(listener) for listener in listeners)
        life = Life(node.clock, _version, addresses, lambda: len(kafka.connections))
        server = None
        if bound is not None:
            tls, reception = receive(node.services[Entrances], bound, DOOR_NAME)
            times = _stream_times(node.topics.settings)
            shown: tuple[object, ...] = (life, reception, metrics, scrubbing, limits, times)
            services = node.services.extended({type(each): each for each in shown})
            server = HttpServer(services, node.workers, limits, tls)
            node.services[CarriedRequests].answers = server.carried
        start = StartMetrics(_version, node.identity.node_id, server)
        metrics.register(start.collect)
        register_node(metrics, node)
        metrics.register(ScrubMetrics(scrubbing.scrubber).collect)
        metrics.register(KafkaMetrics(kafka, node.services[RefusedHeaders]).collect)
        metrics.register(ResidentMetrics(node.services[Residents]).collect)
        return cls(server, bound, life, start, node.partitions)

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
        reports = [each.log.recovery for each in self.partitions.logs()]
        start = self.start
        start.recovery_s = took_s
        start.recovered_bytes = sum(report.scanned_bytes for report in reports)
        start.set_aside_bytes = sum(report.set_aside_bytes for report in reports)
        figures = {"partitions": len(list(self.partitions)), "seconds": round(took_s, 3), "clean": clean}
        logger.info("the logs are open", extra={**figures, "scanned_bytes": start.recovered_bytes})

    def enter(self, phase: Phase) -> None:
        """The broker is ready, or stops."""
        self.life.phase = phase


def _version() -> str:
    import tidegate

    return tidegate.__version__


def _advertised(listener: Listening) -> tuple[str, int]:
    told = parse_listener(listener.told)
    return told.host, told.port


def _stream_times(settings: BrokerSettings) -> StreamTimes:
    return StreamTimes(
        settings.integer("http.stream.heartbeat.ms") / 1000, settings.integer("http.poll.max.wait.ms") / 1000
    )


def http_limits(settings: BrokerSettings, descriptors: DescriptorPlan) -> HttpLimits:
    """The bounds that the broker's configuration sets."""
    return HttpLimits(
        max_connections=descriptors.http_connections,
        max_streams=descriptors.http_streams,
        max_unsent_bytes=settings.integer("http.max.unsent.bytes"),
        max_request_bytes=settings.integer("http.max.request.bytes"),
        max_header_bytes=settings.integer("http.max.header.bytes"),
        request_timeout_s=settings.integer("http.request.timeout.ms") / 1000,
        max_idle_s=settings.integer("http.max.idle.ms") / 1000,
        stream_idle_s=settings.integer("http.stream.max.idle.ms") / 1000,
    )
