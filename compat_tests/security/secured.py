"""The same secured broker of either kind: an open listener for whoever prepares, and three that ask who comes."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import define, evolve, field

from compat_tests.brokers import SETTINGS, target
from compat_tests.security.certificates import Certificates
from compat_tests.security.tokens import Issuer
from compat_tests.security.ways import Way
from compat_tests.share.asking import ask
from compat_tests.wire.connection import Wire
from coordinators.access.password_file import PasswordHash, format_users
from tidegate import testing
from tidegate.config_keys import BROKER_KEYS
from tools.reference.broker import free_port
from tools.reference.secured import MAPPING_RULES, MECHANISMS, PROTOCOLS, secured_kafka, token_settings
from wire.kafka.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest

PLAIN_USERS = {"alice": "alice-secret", "admin": "admin-secret"}
SCRAM_USERS = {"bob": "bob-secret"}
PRINCIPALS = ("alice", "bob", "carol", "dave")
"""By a password in clear, by SCRAM, by a token, by a certificate."""

TOPIC, GROUP, PREFIXED, ALL, ALLOW = 2, 3, 4, 2, 3
ITERATIONS = 4096


@define(eq=False)
class Secured:
    """A running broker by its listeners."""

    open: str
    tls: str
    sasl: str
    secure: str
    certificates: Certificates
    issuer: Issuer
    running: testing.RunningBroker | None = None
    """Where it is Tidegate."""
    ways: dict[str, Way] = field(init=False)

    def __attrs_post_init__(self) -> None:
        found = [self._way("certificate", "TLS", certificate=self.certificates.client("dave"))]
        for listener in ("SASL", "SECURE"):
            low = listener.lower()
            found += [
                self._way(f"{low}-plain", listener, "PLAIN", "alice", PLAIN_USERS["alice"]),
                self._way(f"{low}-admin", listener, "PLAIN", "admin", PLAIN_USERS["admin"]),
                self._way(f"{low}-scram-256", listener, "SCRAM-SHA-256", "bob", SCRAM_USERS["bob"]),
                self._way(f"{low}-scram-512", listener, "SCRAM-SHA-512", "bob", SCRAM_USERS["bob"]),
                self._way(f"{low}-token", listener, "OAUTHBEARER", token=self.issuer.token("carol")),
            ]
        self.ways = {way.name: way for way in found}

    def _way(
        self,
        name: str,
        listener: str,
        mechanism: str | None = None,
        user: str = "",
        password: str = "",
        token: str = "",
        certificate: tuple[Path, Path] | None = None,
    ) -> Way:
        address = {"TLS": self.tls, "SASL": self.sasl, "SECURE": self.secure}[listener]
        authority = self.certificates.authority
        return Way(name, address, PROTOCOLS[listener], authority, mechanism, user, password, token, certificate)

    def grant(self, prefix: str) -> None:
        """Lets all users of the ways do everything with topics and groups that begin so."""
        rules = [
            AclCreation(kind, prefix, PREFIXED, f"User:{name}", "*", ALL, ALLOW)
            for kind in (TOPIC, GROUP)
            for name in PRINCIPALS
        ]
        with Wire(self.open) as wire:
            for number, algorithm in enumerate(("sha256", "sha512"), 1):
                upsertions = [_upsertion(name, word, number, algorithm) for name, word in SCRAM_USERS.items()]
                made = ask(wire, AlterUserScramCredentialsRequest(upsertions=upsertions))
                assert {each.error_code for each in made.results} == {0}, made
            answer = ask(wire, CreateAclsRequest(creations=rules), 3)
            assert {each.error_code for each in answer.results} == {0}, answer

    def with_token(self, way: str, token: str) -> Way:
        return evolve(self.ways[way], token=token)

    def with_certificate(self, name: str | None, *, trusted: bool = True) -> Way:
        """The way by a certificate, with another or none."""
        shown = None if name is None else self.certificates.client(name, trusted=trusted)
        return evolve(self.ways["certificate"], certificate=shown)

    def with_other_authority(self, way: str, folder: Path) -> Way:
        """As somebody who believes another authority than the broker's."""
        return evolve(self.ways[way], authority=Certificates(folder).authority)


def _upsertion(name: str, password: str, number: int, algorithm: str) -> ScramCredentialUpsertion:
    salt = os.urandom(16)
    return ScramCredentialUpsertion(
        name, number, ITERATIONS, salt, hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, ITERATIONS)
    )


@contextmanager
def secured(settings: Mapping[str, str] | None = None) -> Iterator[Secured]:
    """Starts the broker that COMPAT_TARGET names."""
    with tempfile.TemporaryDirectory(prefix="compat-secured-") as directory:
        certificates, issuer = Certificates(Path(directory)), Issuer(Path(directory))
        merged = {**SETTINGS, **(settings or {})}
        if target() == "kafka":
            with secured_kafka(certificates.files, PLAIN_USERS, issuer.settings, merged) as (_, at):
                yield Secured(at["OPEN"], at["TLS"], at["SASL"], at["SECURE"], certificates, issuer)
        else:
            with _tidegate(certificates, issuer, merged) as (running, at):
                yield Secured(at["OPEN"], at["TLS"], at["SASL"], at["SECURE"], certificates, issuer, running)


def has_tls() -> bool:
    return target() == "kafka" or "ssl.keystore.location" in BROKER_KEYS


def has_tokens() -> bool:
    return target() == "kafka" or "sasl.oauthbearer.jwks.endpoint.url" in BROKER_KEYS


@contextmanager
def _tidegate(
    certificates: Certificates, issuer: Issuer, settings: Mapping[str, str]
) -> Iterator[tuple[testing.RunningBroker, dict[str, str]]]:
    ports = {name: free_port() for name in PROTOCOLS}
    listeners = [name for name in PROTOCOLS if has_tls() or name in ("OPEN", "SASL")]
    users = certificates.folder / "users"
    users.write_text(format_users({name: PasswordHash.of(word, os.urandom) for name, word in PLAIN_USERS.items()}))
    own = {
        "listeners": ",".join(f"{name}://127.0.0.1:{ports[name]}" for name in listeners),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.plain.users.location": str(users),
        "authorizer.enable": "true",
        "super.users": "User:ANONYMOUS;User:admin",
    }
    if has_tls():
        own |= {
            "ssl.keystore.location": str(certificates.server),
            "ssl.truststore.location": str(certificates.authority),
            "ssl.principal.mapping.rules": MAPPING_RULES,
            "listener.name.tls.ssl.client.auth": "required",
        }
    if has_tokens():
        own |= {**token_settings(issuer.settings), "sasl.enabled.mechanisms": ",".join(MECHANISMS)}
    with testing.broker({**own, **settings}) as running:
        yield running, {name: f"127.0.0.1:{port}" for name, port in ports.items()}
