"""The listener of the text door: accepts within bounds, has TLS spoken where it is asked for, and counts."""

import logging
import socket

import trio
from attrs import define, field

from wire.acceptor import Acceptor, ConnectionLimits, displace
from wire.text.config import TextLimits
from wire.text.logins import TextLogins
from wire.text.session import Enter, TextCounts, TextSession
from wire.tls.arriving import NoHandshake, encrypted
from wire.tls.identity import TlsIdentity
from wire.transport import Transport

logger = logging.getLogger("tidegate.text")

GRACE_S, CHECK_S = 1.0, 0.01
"""How long clients have for their last answers when the broker stops, and how often it is looked whether they did."""


@define(eq=False)
class _Client:
    """One connection, from its handshake on."""

    server: "TextServer"
    transport: Transport
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    session: TextSession | None = None
    begun: float = field(factory=trio.current_time)

    @property
    def waiting_since(self) -> float | None:
        """Until it is known whose it is, it can lose its place."""
        return None if self.session is not None and self.session.is_known else self.begun

    async def run(self) -> None:
        with self.scope:
            await self.server.serve_one(self)


class TextServer:
    """One listening socket and its connections."""

    def __init__(self, enter: Enter, logins: TextLogins, limits: TextLimits, tls: TlsIdentity | None = None) -> None:
        self.counts = TextCounts()
        self.logins = logins
        self._enter = enter
        self._limits = limits
        self._tls = tls
        self._is_leaving = False
        most = ConnectionLimits(limits.max_connections, "text.max.connections")
        self._acceptor: Acceptor[_Client] = Acceptor(most, logger, self._make_room)

    async def serve(self, listener: socket.socket) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        await self._acceptor.serve(listener, lambda transport, _: _Client(self, transport))

    def _make_room(self) -> bool:
        """Let a stranger go: whoever does not say who it is keeps nobody out who would."""
        return displace(self._acceptor.connections)

    async def serve_one(self, client: _Client) -> None:
        """Serve a connection until it ends."""
        transport, shown = client.transport, None
        if self._tls is not None:
            try:
                transport, shown = await encrypted(transport, self._tls)
            except NoHandshake as reason:
                self._ended("no TLS")
                logger.info("a client is not let in: %s", reason, extra={"address": transport.address[0]})
                return
        client.session = TextSession(transport, shown, self._enter, self.logins, self._limits, self.counts)
        if self._is_leaving:
            client.session.leave()
        try:
            self._ended(await client.session.run())
        finally:
            transport.close()

    async def drain(self) -> None:
        """Have what is being written answered, and whatever is not begun refused, for a moment: whoever hears nothing
        of a record does not know whether it was written."""
        self._is_leaving = True
        sessions = [each.session for each in self._acceptor.connections.values() if each.session is not None]
        for session in sessions:
            session.leave()
        with trio.move_on_after(GRACE_S):
            while any(each.session is not None for each in self._acceptor.connections.values()):  # noqa: ASYNC110
                await trio.sleep(CHECK_S)

    def _ended(self, reason: str) -> None:
        self._acceptor.ended[reason] += 1

    @property
    def ended(self) -> dict[str, int]:
        """How many connections have ended, by reason."""
        return dict(self._acceptor.ended)

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return self._acceptor.statistics()
