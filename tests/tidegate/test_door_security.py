"""The operations door with TLS, passwords and certificates, as a caller finds it."""

import os
import signal
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from attrs import frozen

from coordinators.access.password_file import PasswordHash, format_users
from tests.coordinators.access.issuing import RSA, claims, document, token, unsigned
from tidegate import testing
from tidegate.admin import Admin, AdminError, NotAllowed, Unreachable

PATIENCE_S = 15.0


def fresh(**others: object) -> str:
    """A token that counts now."""
    now = int(time.time())
    return token({**claims(), "iat": now - 10, "nbf": now - 10, "exp": now + 600, **others})


@frozen
class Door:
    broker: testing.RunningBroker
    authority: trustme.CA
    keystore: Path

    def context(self, client: str | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if client is not None:
            self.authority.issue_cert(f"{client}@tests.invalid", common_name=client).configure_cert(context)
        return context

    def admin(self, *, client: str | None = None, user: tuple[str, str] | None = None, token: str | None = None):  # type: ignore[no-untyped-def]
        return Admin.connect(self.broker.http_url, token, user=user, tls=self.context(client))

    def serial(self) -> int:
        """Of the certificate that new callers are shown."""
        import socket

        from cryptography import x509

        host, port = self.broker.http_url.removeprefix("https://").split(":")
        with (
            socket.create_connection((host, int(port))) as plain,
            self.context().wrap_socket(plain, server_hostname=host) as tls,
        ):
            return x509.load_der_x509_certificate(tls.getpeercert(binary_form=True) or b"").serial_number


def write_certificate(authority: trustme.CA, file: Path) -> None:
    issued = authority.issue_cert("127.0.0.1", common_name="door", organization_unit_name="doors")
    fresh = file.with_suffix(".new")
    fresh.write_bytes(b"".join(each.bytes() for each in (issued.private_key_pem, *issued.cert_chain_pems)))
    fresh.replace(file)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("door")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    write_certificate(authority, folder / "server.pem")
    (folder / "users").write_text(format_users({"alice": PasswordHash.of("sesame", os.urandom)}))
    (folder / "keys.json").write_bytes(document(RSA))
    config = {
        "http.security.protocol": "SSL",
        "http.enabled.mechanisms": "BASIC,OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": (folder / "keys.json").as_uri(),
        "sasl.oauthbearer.expected.issuer": str(claims()["iss"]),
        "sasl.oauthbearer.expected.audience": str(claims()["aud"]),
        "http.token": "secret",
        "listener.name.http.ssl.keystore.location": str(folder / "server.pem"),
        "listener.name.http.ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.http.ssl.client.auth": "requested",
        "sasl.plain.users.location": str(folder / "users"),
    }
    with testing.broker(config) as broker:
        yield Door(broker, authority, folder / "server.pem")


@pytest.mark.parametrize(
    "way", [{"token": "secret"}, {"token": fresh()}, {"user": ("alice", "sesame")}, {"client": "dave"}]
)
def test_let_in(door: Door, way: dict[str, str]) -> None:
    with pytest.raises(AdminError, match="no topic"):
        door.admin(**way).list_pending("none")


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"token": "guess"},
        {"user": ("alice", "guess")},
        {"user": ("bob", "sesame")},
        {"token": "x", "client": "dave"},
        {"token": fresh(exp=1)},
        {"token": unsigned()},
    ],
)
def test_not_let_in(door: Door, way: dict[str, str]) -> None:
    with pytest.raises(NotAllowed):
        door.admin(**way).list_pending("none")


def test_a_certificate_of_another_authority(door: Door) -> None:
    context = door.context()
    trustme.CA().issue_cert("eve@tests.invalid").configure_cert(context)
    with pytest.raises(Unreachable):
        Admin.connect(door.broker.http_url, "secret", tls=context).list_pending("none")


def test_a_caller_without_tls_is_closed_and_a_line_is_logged(door: Door) -> None:
    with pytest.raises(Unreachable):
        Admin.connect(door.broker.http_url.replace("https", "http"), "secret").list_pending("none")
    assert "does not speak TLS" in door.broker.log()
    assert "Traceback" not in door.broker.log()


def test_a_new_certificate_is_shown_to_new_callers(door: Door) -> None:
    before = door.serial()
    write_certificate(door.authority, door.keystore)
    os.kill(door.broker.pid, signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE_S
    while door.serial() == before:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"http.host": "0.0.0.0"}, "set http.token"),
        ({"http.host": "0.0.0.0", "http.enabled.mechanisms": "BASIC"}, "http.security.protocol=SSL"),
        ({"http.security.protocol": "SSL"}, "TLS needs a certificate"),
    ],
)
def test_what_is_not_safe_does_not_start(config: dict[str, str], said: str) -> None:
    with pytest.raises(testing.BrokerDidNotStart, match=said), testing.broker(config):
        pass
