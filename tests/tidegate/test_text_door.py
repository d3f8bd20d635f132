"""The text door as an operator sets it up: TLS, passwords, tokens, certificates; closed to strangers."""

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trustme

from coordinators.access.password_file import PasswordHash, format_users
from tests.tidegate.test_door_security import write_certificate
from tests.wire.kafka.door import config
from tidegate import testing
from tidegate.listening import CannotListen, bind_doors

PATIENCE_S = 30.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "text.token"),
        ({"text.enabled.mechanisms": "BASIC"}, "text.security.protocol=SSL"),
        ({"text.security.protocol": "SSL"}, "others could reach the text door"),
    ],
)
def test_beyond_loopback_it_does_not_start_unless_clients_are_asked(
    tmp_path: Path, settings: dict[str, object], words: str
) -> None:
    asked = config(tmp_path, {"text.host": "0.0.0.0", "text.port": -1, **settings})
    with pytest.raises(CannotListen, match=words) as caught, bind_doors(asked):
        pass
    assert caught.value.is_configuration


def test_it_is_off_unless_its_port_is_given(tmp_path: Path) -> None:
    with bind_doors(config(tmp_path)) as doors:
        assert doors.text is None


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA) -> Iterator[testing.RunningBroker]:
    folder = tmp_path_factory.mktemp("text")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    write_certificate(authority, folder / "server.pem")
    (folder / "users").write_text(format_users({"alice": PasswordHash.of("sesame", os.urandom)}))
    settings = {
        "text.port": "-1",
        "text.security.protocol": "SSL",
        "text.enabled.mechanisms": "BASIC",
        "text.token": "door-token",
        "listener.name.text.ssl.keystore.location": str(folder / "server.pem"),
        "listener.name.text.ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.text.ssl.client.auth": "requested",
        "sasl.plain.users.location": str(folder / "users"),
    }
    with testing.broker(settings) as running:
        yield running


def exchange(broker: testing.RunningBroker, authority: trustme.CA, data: bytes, client: str | None = None) -> bytes:
    """All that is said until the end."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    if client is not None:
        authority.issue_cert(f"{client}@tests.invalid", common_name=client).configure_cert(context)
    host, port = broker.text_address.rsplit(":", 1)
    with (
        socket.create_connection((host, int(port)), PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        tls.sendall(data)
        return tls.makefile("rb").read()


def test_users_log_in_over_tls(broker: testing.RunningBroker, authority: trustme.CA) -> None:
    said = exchange(broker, authority, b"AUTH alice sesame\r\nPUB t 2\r\nhi\r\nQUIT\r\n")
    assert said.startswith(b"OK User:alice\r\nOK ")
    assert said.endswith(b"BYE\r\n")


def test_the_doors_token_is_the_operators(broker: testing.RunningBroker, authority: trustme.CA) -> None:
    assert exchange(broker, authority, b"AUTH door-token\r\nQUIT\r\n") == b"OK User:operator\r\nBYE\r\n"


def test_a_certificate_says_who_it_is(broker: testing.RunningBroker, authority: trustme.CA) -> None:
    said = exchange(broker, authority, b"PUB t 2\r\nhi\r\nAUTH alice sesame\r\nQUIT\r\n", client="carol")
    assert said.startswith(b"OK ")
    assert b"carol" in said


def test_nobody_else_does_anything(broker: testing.RunningBroker, authority: trustme.CA) -> None:
    assert exchange(broker, authority, b"PUB t 2\r\nhi\r\n").startswith(b"ERR AUTHENTICATION_REQUIRED ")
    assert exchange(broker, authority, b"AUTH alice wrong\r\n").startswith(b"ERR AUTHENTICATION_FAILED ")


def test_who_does_not_speak_tls_is_not_answered(broker: testing.RunningBroker) -> None:
    host, port = broker.text_address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE_S) as plain:
        plain.sendall(b"PING\r\n")
        assert b"PONG" not in plain.makefile("rb").read()


def test_who_publishes_while_the_broker_stops_knows_what_was_stored() -> None:
    with testing.broker({"text.port": "-1"}, timeout_s=60) as running:
        host, _, port = running.text_address.rpartition(":")
        with socket.create_connection((host, int(port)), PATIENCE_S) as sock:
            sock.sendall(b"PUB t 2\r\nhi\r\n")
            answers = sock.makefile("rb")
            assert answers.readline() == b"OK 0\r\n"
            stopping = threading.Thread(target=running.stop)
            sending = threading.Thread(target=_publish_until_the_end, args=(sock,))
            sending.start()
            told = [answers.readline() for _ in range(100)]
            stopping.start()
            while line := answers.readline():
                told.append(line)
            sending.join(PATIENCE_S)
            stopping.join(PATIENCE_S)
        assert told[-1].startswith(b"ERR STOPPING "), told[-1]
        stored = len(told)
        assert told[:-1] == [b"OK %d\r\n" % number for number in range(1, stored)]
        running.start()
        host, _, port = running.text_address.rpartition(":")
        with socket.create_connection((host, int(port)), PATIENCE_S) as sock:
            sock.sendall(b"PUB t 4\r\nlast\r\n")
            assert sock.makefile("rb").readline() == b"OK %d\r\n" % stored, "nothing else was written"


def _publish_until_the_end(sock: socket.socket) -> None:
    with suppress(OSError):
        while True:
            sock.sendall(b"PUB t 2\r\nhi\r\n" * 100)
