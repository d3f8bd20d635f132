"""The text door, composed: who may come in, its bounds, and when it is open."""

from attrs import frozen

from engine.config.resolve import BrokerSettings
from engine.metrics import Metrics
from tidegate.config import TEXT_DOOR_NAME
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.listening import BoundDoor
from tidegate.node import Node
from wire.text.config import TextLimits
from wire.text.logins import TextLogins
from wire.text.metrics import TextMetrics
from wire.text.server import TextServer
from wire.text.use import InnerUse
from wire.tls.identity import TlsIdentity

BACKLOG = 128


@frozen(eq=False)
class TextDoor:
    """The server and its socket."""

    server: TextServer
    bound: BoundDoor

    @classmethod
    def compose(cls, node: Node, bound: BoundDoor, descriptors: DescriptorPlan, metrics: Metrics) -> "TextDoor":
        """For a broker that is about to start."""
        limits = text_limits(node.topics.settings, descriptors)
        tls, logins = _logins(node.services[Entrances], bound)
        server = TextServer(InnerUse.of(node.services, limits).enter, logins, limits, tls)
        metrics.register(TextMetrics(server).collect)
        return cls(server, bound)

    async def serve(self) -> None:
        """Serve who connects, for ever."""
        self.bound.socket.listen(BACKLOG)
        await self.server.serve(self.bound.socket)


def _logins(entrances: Entrances, bound: BoundDoor) -> tuple[TlsIdentity | None, TextLogins]:
    """How clients show who they are, as the configuration has it."""
    tls = entrances.door(TEXT_DOOR_NAME) if bound.has_tls else None
    passwords = entrances.passwords() if bound.takes_passwords else None
    return tls, TextLogins(
        bound.access,
        check_password=passwords.check if passwords else None,
        recall=passwords.recall if passwords else None,
        check_token=entrances.token_check(TEXT_DOOR_NAME) if bound.takes_tokens else None,
        certificates=tls is not None and tls.sources.client_auth != "none",
        delay_s=entrances.config.settings.integer("connection.failed.authentication.delay.ms") / 1000,
        failed=entrances.failed,
    )


def text_limits(settings: BrokerSettings, descriptors: DescriptorPlan) -> TextLimits:
    """The bounds that the broker's configuration sets."""
    return TextLimits(
        max_connections=descriptors.text_connections,
        max_line_bytes=settings.integer("text.max.line.bytes"),
        max_payload_bytes=settings.integer("text.max.payload.bytes"),
        max_fetch_bytes=settings.integer("text.fetch.max.bytes"),
        max_wait_ms=settings.integer("text.fetch.max.wait.ms"),
        request_timeout_s=settings.integer("text.request.timeout.ms") / 1000,
        max_idle_s=settings.integer("text.max.idle.ms") / 1000,
        login_timeout_s=settings.integer("sasl.authentication.timeout.ms") / 1000,
    )
