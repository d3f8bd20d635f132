"""The listener of the text door: accepts within bounds, has TLS spoken where it is asked for, and counts."""

import logging
import socket

from attrs import define

from wire.acceptor import Acceptor, ConnectionLimits
from wire.text.config import TextLimits
from wire.text.logins import TextLogins
from wire.text.session import Enter, TextCounts, TextSession
from wire.tls.arriving import NoHandshake, encrypted
from wire.tls.identity import TlsIdentity
from wire.transport import Transport

logger = logging.getLogger("tidegate.text")


@define(eq=False)
class _Client:
    """One connection, from its handshake on."""

    server: "TextServer"
    transport: Transport

    async def run(self) -> None:
        await self.server.serve_one(self.transport)


class TextServer:
    """One listening socket and its connections."""

    def __init__(self, enter: Enter, logins: TextLogins, limits: TextLimits, tls: TlsIdentity | None = None) -> None:
        self.counts = TextCounts()
        self.logins = logins
        self._enter = enter
        self._limits = limits
        self._tls = tls
        most = ConnectionLimits(limits.max_connections, "text.max.connections")
        self._acceptor: Acceptor[_Client] = Acceptor(most, logger)

    async def serve(self, listener: socket.socket) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        await self._acceptor.serve(listener, lambda transport, _: _Client(self, transport))

    async def serve_one(self, transport: Transport) -> None:
        """Serve a connection until it ends."""
        shown = None
        if self._tls is not None:
            try:
                transport, shown = await encrypted(transport, self._tls)
            except NoHandshake as reason:
                self._ended("no TLS")
                logger.info("a client is not let in: %s", reason, extra={"address": transport.address[0]})
                return
        session = TextSession(transport, shown, self._enter, self.logins, self._limits, self.counts)
        try:
            self._ended(await session.run())
        finally:
            transport.close()

    def _ended(self, reason: str) -> None:
        self._acceptor.ended[reason] += 1

    @property
    def ended(self) -> dict[str, int]:
        """How many connections have ended, by reason."""
        return dict(self._acceptor.ended)

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return self._acceptor.statistics()
