"""TLS to other nodes of the cluster, by the certificates of this node's own listener of the same name."""

import ssl
from collections.abc import Mapping

import trio
from attrs import define

from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.kafka.listeners import Listener
from wire.tls.identity import TlsIdentity


@define(eq=False)
class TlsDialling:
    """Whoever is dialled must be who it is called: its certificate is checked against the host, always."""

    identities: Mapping[str, TlsIdentity]
    """By the names of listeners."""
    workers: Workers

    async def encrypt(self, stream: trio.abc.Stream, listener: Listener) -> trio.abc.Stream:
        """TLS over the stream; OSError says why it did not come about."""
        identity = self.identities.get(listener.name)
        if identity is None:
            raise OSError(f"this node has no listener {listener.name} whose certificates it could use")
        context: ssl.SSLContext = await in_worker(self.workers, identity.dialling)
        # Nobody waits for a goodbye: an answer that was cut short is known by its length.
        encrypted = trio.SSLStream(stream, context, server_hostname=listener.host, https_compatible=True)
        try:
            await encrypted.do_handshake()
        except trio.BrokenResourceError as error:
            raise OSError(f"no TLS: {_words(error.__cause__ or error)}") from None
        return encrypted


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.rstrip(".")
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error) or "the other end is gone"
    return str(reason).replace("_", " ").lower()
