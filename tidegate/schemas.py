"""The schema registry, composed: what the catalogue says of schemas, and the door to it.

A broker without schemas keeps next to nothing for it; whoever changes schemas is loaded with the door's first caller.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define

from coordinators.cluster.controller import ClusterController
from coordinators.schemas.registry import Registry
from coordinators.waiting import in_worker
from engine.config.resolve import BrokerSettings
from engine.metrics import Metrics
from tidegate.config import REGISTRY_NAME
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.listening import BoundDoor
from tidegate.node import Node
from tidegate.reception import receive
from tidegate.world import World
from wire.http.callers import Reception
from wire.http.config import HttpLimits
from wire.http.life import Life
from wire.http.server import HttpServer
from wire.registry.metrics import RegistryMetrics
from wire.services import Services

if TYPE_CHECKING:
    from wire.registry.application import RegistryApplication

BACKLOG = 128


async def open_registry(world: World, controller: ClusterController) -> Registry:
    """The schemas that there are, followed from now on."""
    registry, replicas = Registry(), controller.replicas
    await in_worker(world.catalogue_workers, registry.load, replicas.catalogue)
    replicas.row_followers.append(registry)
    return registry


@define(eq=False)
class RegistryDoor:
    """The registry at a port of its own, or its absence."""

    server: HttpServer | None = None
    bound: BoundDoor | None = None

    @classmethod
    def compose(
        cls, node: Node, metrics: Metrics, life: Life, bound: BoundDoor | None, descriptors: DescriptorPlan
    ) -> "RegistryDoor":
        """For a broker that is about to start."""
        server = None if bound is None else _server(node, life, bound, descriptors)
        metrics.register(RegistryMetrics(node.services[Registry], server).collect)
        return cls(server, bound)

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


def _server(node: Node, life: Life, bound: BoundDoor, descriptors: DescriptorPlan) -> HttpServer:
    tls, callers = receive(node.services[Entrances], bound, REGISTRY_NAME)
    limits = registry_limits(node.topics.settings, descriptors)
    services = node.services.extended({Life: life, Reception: callers})
    return HttpServer(services, node.workers, limits, tls, _load, "registry")


def _load(services: Services) -> "RegistryApplication":
    from wire.registry.application import load_registry

    return load_registry(services)


def registry_limits(settings: BrokerSettings, descriptors: DescriptorPlan) -> HttpLimits:
    """The bounds that the broker's configuration sets; those without keys of their own are the operations door's."""
    return HttpLimits(
        max_connections=descriptors.registry_connections,
        max_request_bytes=settings.integer("registry.max.request.bytes"),
        max_header_bytes=settings.integer("http.max.header.bytes"),
        request_timeout_s=settings.integer("http.request.timeout.ms") / 1000,
        max_idle_s=settings.integer("http.max.idle.ms") / 1000,
    )
