"""The listener of the gRPC door: accepts within bounds and hands connections to what is loaded late."""

import logging
import socket
from collections import Counter
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from coordinators.waiting import in_worker
from engine.errors import SaslAuthenticationFailed
from engine.workers import Workers
from wire.acceptor import Acceptor, ConnectionLimits, displace
from wire.grpc.config import GrpcLimits, GrpcTimes
from wire.http.callers import Reception, Visitor
from wire.services import Services
from wire.tls.identity import TlsIdentity
from wire.tls.names import principal_of
from wire.tls.transport import NoTls, TlsTransport
from wire.transport import Transport

if TYPE_CHECKING:
    from wire.grpc.connection import DoorFigures, GrpcConnection
    from wire.grpc.door import GrpcDoor

logger = logging.getLogger("tidegate.grpc")

CHECK_S = 0.02


@define(eq=False)
class _GrpcCaller:
    """One connection; without one while what serves it is loaded."""

    server: "GrpcServer"
    transport: Transport
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    connection: "GrpcConnection | None" = None
    begun: float = field(factory=trio.current_time)

    @property
    def waiting_since(self) -> float | None:
        """Until somebody who may has called by it, it can lose its place."""
        return None if self.connection is not None and self.connection.is_known else self.begun

    async def run(self) -> None:
        with self.scope:
            arrived = await self.server.arrived(self.transport)
            if arrived is not None:
                self.connection = await self.server.connection(*arrived)
                await self.server.run(self.connection, self.transport)


class GrpcServer:
    """One listening socket and its connections."""

    def __init__(
        self,
        services: Services,
        reception: Reception,
        limits: GrpcLimits,
        times: GrpcTimes,
        tls: TlsIdentity | None = None,
    ) -> None:
        self._services = services
        self._reception = reception
        self._workers: Workers = services[Workers]  # type: ignore[type-abstract]
        self._limits, self._times = limits, times
        self._tls = tls
        self._loading = trio.Lock()
        self.door: GrpcDoor | None = None
        """Once somebody has called."""
        self.figures: DoorFigures | None = None
        most = ConnectionLimits(limits.max_connections, "grpc.max.connections")
        self._acceptor: Acceptor[_GrpcCaller] = Acceptor(most, logger, self._make_room)

    async def serve(self, listener: socket.socket) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        await self._acceptor.serve(listener, lambda transport, _: _GrpcCaller(self, transport))

    def _make_room(self) -> bool:
        """Let a stranger go: whoever does not say who it is keeps nobody out who would."""
        return displace(self._acceptor.connections)

    async def arrived(self, transport: Transport) -> tuple[Transport, Visitor] | None:
        """Who comes, once what it says is encrypted where it has to be; None if that does not come about."""
        tls = self._tls
        if tls is None:
            return transport, Visitor(transport.address[0])
        encrypted = TlsTransport(transport, tls.context)
        try:
            with trio.fail_after(tls.handshake_timeout_s):
                await encrypted.handshake(tls.turn)
            shown = encrypted.certificate
            principal = None if shown is None else principal_of(shown, tls.rules)
        except (NoTls, SaslAuthenticationFailed, OSError, trio.TooSlowError) as error:
            self._acceptor.ended["no TLS"] += 1
            reason = str(error) or "no TLS within ssl.handshake.timeout.ms"
            logger.info("a caller is not let in: %s", reason, extra={"address": transport.address[0]})
            return None
        return encrypted, Visitor(transport.address[0], principal)

    async def connection(self, transport: Transport, visitor: Visitor) -> "GrpcConnection":
        """A connection, to be run; the first has what serves it loaded."""
        async with self._loading:
            if self.door is None:
                arguments = (self._services, self._reception, self._limits, self._times)
                self.door, self.figures = await in_worker(self._workers, _load, *arguments)
            assert self.door is not None, "it was loaded just now, or before"
            return self.door.connection(transport, visitor)

    async def run(self, connection: "GrpcConnection", transport: Transport) -> None:
        """Serve one connection, and say why it has ended where its client is at fault."""
        from wire.grpc.session import SessionBroken

        try:
            await connection.run()
        except SessionBroken as error:
            self._acceptor.ended[error.reason] += 1
            logger.info("a connection is ended: %s", error, extra={"address": transport.address[0]})

    async def drain(self) -> None:
        """Take no more calls, let those end that are there, as long as the grace lasts."""
        if self.figures is None:
            return
        self.figures.stopping.set()
        connections = [each.connection for each in self._acceptor.connections.values() if each.connection is not None]
        for connection in connections:
            connection.leave("the broker stops")
        with trio.move_on_after(self._times.grace_s):
            while not all(connection.is_idle for connection in connections):  # noqa: ASYNC110
                await trio.sleep(CHECK_S)
            # What was said last is on its way to clients that read.
            await trio.sleep(CHECK_S)

    @property
    def refused_logins(self) -> int:
        """Passwords and tokens that were wrong."""
        return self._reception.refused

    @property
    def ended(self) -> Counter[str]:
        """Connections that we ended, by reason."""
        return self._acceptor.ended

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return self._acceptor.statistics()


def _load(
    services: Services, reception: Reception, limits: GrpcLimits, times: GrpcTimes
) -> tuple["GrpcDoor", "DoorFigures"]:
    """[thread] What serves callers, made once."""
    from wire.grpc.callers import GrpcReception
    from wire.grpc.connection import DoorFigures
    from wire.grpc.door import load_door

    figures = DoorFigures(limits, times)
    shown: tuple[object, ...] = (figures, limits, GrpcReception(reception))
    return load_door(services.extended({type(each): each for each in shown})), figures
