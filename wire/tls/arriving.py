"""How who connects to another door than Kafka's comes to speak TLS."""

import trio

from coordinators.access.callers import Principal
from engine.errors import SaslAuthenticationFailed
from wire.tls.identity import TlsIdentity
from wire.tls.names import principal_of
from wire.tls.transport import NoTls, TlsTransport
from wire.transport import Transport


class NoHandshake(Exception):
    """No TLS came about; the sentence says why."""


async def encrypted(transport: Transport, tls: TlsIdentity) -> tuple[TlsTransport, Principal | None]:
    """The transport with TLS over it, and whose certificate was shown, if any was."""
    found = TlsTransport(transport, tls.context)
    try:
        with trio.fail_after(tls.handshake_timeout_s):
            await found.handshake(tls.turn)
        shown = found.certificate
        return found, None if shown is None else principal_of(shown, tls.rules)
    except (NoTls, SaslAuthenticationFailed, OSError, trio.TooSlowError) as error:
        raise NoHandshake(str(error) or "no TLS within ssl.handshake.timeout.ms") from error
