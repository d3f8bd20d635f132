"""An authority, certificates of it and contexts with them, made once for all tests of TLS."""

import ssl
from functools import cache
from pathlib import Path

from tidegate.dev_certificates import Authority, Identity, write_secret
from wire.tls.identity import TlsIdentity, TlsSources

AUTHORITY = Authority.make()
BROKER = AUTHORITY.broker(["localhost", "127.0.0.1"])
CLIENT = AUTHORITY.client("orders")


@cache
def server_context() -> ssl.SSLContext:
    sources = TlsSources(chain=BROKER.certificate_pem.decode(), key=BROKER.key_pem.decode())
    identity = TlsIdentity("SSL", sources)
    identity.load()
    return identity.context


def client_context(shown: Path | None = None) -> ssl.SSLContext:
    """Trusts the authority, and shows this certificate."""
    context = ssl.create_default_context(cadata=AUTHORITY.identity.certificate_pem.decode())
    if shown is not None:
        context.load_cert_chain(shown)
    return context


def written(path: Path, identity: Identity) -> Path:
    """A file with the key and the certificate."""
    write_secret(path, identity.pem)
    return path
