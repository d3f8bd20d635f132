"""Apache Kafka with every way in: listeners open and closed, users, certificates, rules.

The open listener is for whoever prepares a test, and a super user; all others ask who comes. SCRAM users are made by
AlterUserScramCredentials on the open listener.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tools.reference.broker import ReferenceBroker, free_port, reference_kafka

SECURITY = "org.apache.kafka.common.security"
PROTOCOLS = {
    "OPEN": "PLAINTEXT",
    "TLS": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
}
"""The listeners by name, and what each speaks."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
MAPPING_RULES = "RULE:^CN=([^,]+),OU=clients,.*$/$1/,DEFAULT"
ALLOWED_URLS = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls"


@frozen
class Tokens:
    """Whose tokens are taken: keys by their address, and what a token must say."""

    jwks_url: str
    issuer: str
    audience: str


@frozen
class Files:
    """PEM files: the authority's certificate, and the server's key before its chain."""

    authority: Path
    server: Path


@contextmanager
def secured_kafka(
    files: Files,
    plain_users: Mapping[str, str],
    tokens: Tokens | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    heap: str = "512m",
) -> Iterator[tuple[ReferenceBroker, dict[str, str]]]:
    """Starts it; gives the address of each listener besides."""
    ports = {name: free_port() for name in PROTOCOLS}
    allowed = (f"{ALLOWED_URLS}={tokens.jwks_url}",) if tokens is not None else ()
    merged = {**secured_settings(ports, files, plain_users, tokens), **(settings or {})}
    before = os.environ.get("REFERENCE_KAFKA")
    os.environ["REFERENCE_KAFKA"] = "jars"  # a container would not see the files
    try:
        with reference_kafka(merged, port=ports["OPEN"], heap=heap, java_options=allowed) as kafka:
            yield kafka, {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    finally:
        if before is None:
            del os.environ["REFERENCE_KAFKA"]
        else:
            os.environ["REFERENCE_KAFKA"] = before


def secured_settings(
    ports: Mapping[str, int], files: Files, plain_users: Mapping[str, str], tokens: Tokens | None
) -> dict[str, str]:
    """The properties that make a Kafka such a one."""
    controller = free_port()
    clients = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    protocols = ",".join(f"{name}:{PROTOCOLS[name]}" for name in ports)
    mechanisms = [each for each in MECHANISMS if tokens is not None or each != "OAUTHBEARER"]
    found = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": f"{protocols},CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "OPEN",
        "sasl.enabled.mechanisms": ",".join(mechanisms),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:admin",
        "ssl.principal.mapping.rules": MAPPING_RULES,
        "listener.name.tls.ssl.client.auth": "required",
    }
    for name in ("tls", "secure"):
        found |= {
            f"listener.name.{name}.ssl.keystore.type": "PEM",
            f"listener.name.{name}.ssl.keystore.location": str(files.server),
            f"listener.name.{name}.ssl.truststore.type": "PEM",
            f"listener.name.{name}.ssl.truststore.location": str(files.authority),
        }
    for name in ("sasl", "secure"):
        for mechanism in mechanisms:
            prefix = f"listener.name.{name}.{mechanism.lower()}"
            found[f"{prefix}.sasl.jaas.config"] = _login(mechanism, plain_users)
            if mechanism == "OAUTHBEARER" and tokens is not None:
                handler = f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
                found[f"{prefix}.sasl.server.callback.handler.class"] = handler
    if tokens is not None:
        found |= token_settings(tokens)
    return found


def token_settings(tokens: Tokens) -> dict[str, str]:
    """Kafka's keys of tokens."""
    return {
        "sasl.oauthbearer.jwks.endpoint.url": tokens.jwks_url,
        "sasl.oauthbearer.expected.issuer": tokens.issuer,
        "sasl.oauthbearer.expected.audience": tokens.audience,
    }


def _login(mechanism: str, plain_users: Mapping[str, str]) -> str:
    if mechanism == "PLAIN":
        users = " ".join(f'user_{name}="{password}"' for name, password in plain_users.items())
        return f"{SECURITY}.plain.PlainLoginModule required {users};"
    if mechanism == "OAUTHBEARER":
        return f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required;"
    return f"{SECURITY}.scram.ScramLoginModule required;"
