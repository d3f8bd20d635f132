"""The gRPC door, composed: who may call it, its bounds, and when it is open."""

from attrs import define

from engine.config.resolve import BrokerSettings
from engine.metrics import Metrics
from tidegate.config import GRPC_DOOR_NAME
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.listening import BoundDoor
from tidegate.node import Node
from tidegate.reception import receive
from wire.grpc.config import GrpcLimits, GrpcTimes
from wire.grpc.metrics import GrpcMetrics
from wire.grpc.server import GrpcServer
from wire.http.life import Life

BACKLOG = 128
PROTOCOLS = ("h2",)
"""What clients are told over TLS that is spoken here (ALPN)."""


@define(eq=False)
class GrpcDoorway:
    """The server and its socket."""

    server: GrpcServer
    bound: BoundDoor

    @classmethod
    def compose(
        cls, node: Node, metrics: Metrics, life: Life, bound: BoundDoor, descriptors: DescriptorPlan
    ) -> "GrpcDoorway":
        """For a broker that is about to start."""
        settings = node.topics.settings
        limits = grpc_limits(settings, descriptors.grpc_connections)
        tls, reception = receive(node.services[Entrances], bound, GRPC_DOOR_NAME, PROTOCOLS)
        services = node.services.extended({Life: life})
        server = GrpcServer(services, reception, limits, grpc_times(settings), tls)
        metrics.register(GrpcMetrics(server).collect)
        return cls(server, bound)

    async def serve(self) -> None:
        """Serve who calls, for ever."""
        self.bound.socket.listen(BACKLOG)
        await self.server.serve(self.bound.socket)


def grpc_limits(settings: BrokerSettings, most_connections: int) -> GrpcLimits:
    """The bounds that the broker's configuration sets."""
    return GrpcLimits(
        max_connections=most_connections,
        max_streams=settings.integer("grpc.max.concurrent.streams"),
        max_message_bytes=settings.integer("grpc.max.message.bytes"),
        max_message_records=settings.integer("grpc.max.message.records"),
        max_buffered_bytes=settings.integer("grpc.max.buffered.bytes"),
        max_header_bytes=settings.integer("grpc.max.header.bytes"),
        resets_per_s=settings.integer("grpc.max.resets.per.second"),
        control_frames_per_s=settings.integer("grpc.max.control.frames.per.second"),
    )


def grpc_times(settings: BrokerSettings) -> GrpcTimes:
    """The times that the broker's configuration sets."""
    return GrpcTimes(
        handshake_s=settings.integer("grpc.handshake.timeout.ms") / 1000,
        keepalive_s=settings.integer("grpc.keepalive.time.ms") / 1000,
        keepalive_timeout_s=settings.integer("grpc.keepalive.timeout.ms") / 1000,
        idle_s=settings.integer("grpc.max.idle.ms") / 1000,
        grace_s=settings.integer("grpc.shutdown.grace.ms") / 1000,
    )
