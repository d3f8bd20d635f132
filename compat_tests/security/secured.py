"""The same secured broker of either kind: an open listener for whoever prepares, and three that ask who comes."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from compat_tests.brokers import SETTINGS, target
from compat_tests.security.certificates import Certificates
from tidegate import testing
from tidegate.config_keys import BROKER_KEYS
from tools.reference.broker import free_port
from tools.reference.secured import PROTOCOLS, Tokens, secured_kafka

PLAIN_USERS = {"alice": "alice-secret", "admin": "admin-secret"}


@frozen
class Secured:
    """A running broker by its listeners."""

    open: str
    tls: str
    sasl: str
    secure: str
    certificates: Certificates


@contextmanager
def secured(settings: Mapping[str, str] | None = None, tokens: Tokens | None = None) -> Iterator[Secured]:
    """Starts the broker that COMPAT_TARGET names."""
    with tempfile.TemporaryDirectory(prefix="compat-secured-") as directory:
        certificates = Certificates(Path(directory))
        merged = {**SETTINGS, **(settings or {})}
        if target() == "kafka":
            with secured_kafka(certificates.files, PLAIN_USERS, tokens, merged) as (_, at):
                yield Secured(at["OPEN"], at["TLS"], at["SASL"], at["SECURE"], certificates)
        else:
            with _tidegate(certificates, merged) as at:
                yield Secured(at["OPEN"], at["TLS"], at["SASL"], at["SECURE"], certificates)


def is_offered() -> bool:
    """Whether the broker under test asks anybody who it is."""
    return target() == "kafka" or "sasl.enabled.mechanisms" in BROKER_KEYS


@contextmanager
def _tidegate(certificates: Certificates, settings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    ports = {name: free_port() for name in PROTOCOLS}
    own = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "authorizer.enable": "true",
        "super.users": "User:ANONYMOUS;User:admin",
    }
    with testing.broker({**own, **settings}):
        yield {name: f"127.0.0.1:{port}" for name, port in ports.items()}
