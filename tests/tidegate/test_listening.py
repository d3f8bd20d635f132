"""Listeners: bound early, told in words when they cannot be, and what clients are told."""

import errno
import os
import socket
from pathlib import Path

import pytest

from tests.wire.kafka.door import config
from tidegate.listening import CannotListen, bind_all, bind_doors, with_door
from wire.kafka.request import Endpoint


def test_a_free_port_is_taken_and_told(tmp_path: Path) -> None:
    with bind_all(config(tmp_path)) as (listener,):
        host, port = listener.address.split(":")
        assert host == "127.0.0.1"
        assert listener.endpoint == Endpoint("127.0.0.1", int(port))


def test_nobody_is_let_in_before_listening(tmp_path: Path) -> None:
    with bind_all(config(tmp_path)) as (listener,), socket.socket() as client:
        address = listener.socket.getsockname()
        assert client.connect_ex(address) != 0
        listener.listen()
        with socket.create_connection(address, timeout=5):
            pass


def test_clients_of_a_wildcard_are_told_the_address_they_came_by(tmp_path: Path) -> None:
    settings: dict[str, object] = {"listeners": "PLAINTEXT://0.0.0.0:0", "listener.allow.anonymous": True}
    with bind_all(config(tmp_path, settings)) as (listener,):
        assert listener.endpoint is None


def test_the_advertised_address_is_told_with_the_bound_port_if_it_names_none(tmp_path: Path) -> None:
    settings: dict[str, object] = {"advertised.listeners": "PLAINTEXT://broker.example:0"}
    with bind_all(config(tmp_path, settings)) as (listener,):
        assert listener.endpoint == Endpoint("broker.example", listener.socket.getsockname()[1])


def test_a_port_in_use_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings: dict[str, object] = {"listeners": f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}"}
        with (
            pytest.raises(CannotListen, match=r"127\.0\.0\.1:\d+.*in use.*--kafka-port"),
            bind_all(config(tmp_path, settings)),
        ):
            pass


def test_an_unknown_host_is_told(tmp_path: Path) -> None:
    settings: dict[str, object] = {"listeners": "PLAINTEXT://no-such-host.invalid:0"}
    with (
        pytest.raises(CannotListen, match=r"nothing is known of the host no-such-host\.invalid.*--host") as raised,
        bind_all(config(tmp_path, settings)),
    ):
        pass
    assert raised.value.is_configuration


@pytest.mark.parametrize(
    ("number", "said", "is_configuration"),
    [
        (errno.EADDRINUSE, "in use.*--kafka-port", False),
        (errno.EADDRNOTAVAIL, "no address 127.0.0.1; choose another with --host", True),
        (errno.EACCES, "may not have port 0; choose one from 1024 on with --kafka-port", True),
        (errno.EINVAL, "Invalid argument; choose another address with --host", True),
    ],
)
def test_what_to_do_goes_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str, is_configuration: bool
) -> None:
    class Refusing(socket.socket):
        def bind(self, _address: object) -> None:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(CannotListen, match=said) as raised, bind_all(config(tmp_path)):
        pass
    assert raised.value.is_configuration is is_configuration


def test_the_door_that_was_bound_is_told_unless_another_is_set(tmp_path: Path) -> None:
    with bind_doors(config(tmp_path, {"http.port": -1})) as doors:
        bound = doors.http
        assert bound is not None
        assert with_door({"a": 1}, bound) == {"a": 1, "http.advertised.url": f"http://{bound.address}"}
        proxied = {"http.advertised.url": "https://broker.example.org"}
        assert with_door(proxied, bound) == proxied
    assert with_door({}, None) == {}


def test_all_sockets_are_closed_at_the_end_and_when_one_cannot_be_bound(tmp_path: Path) -> None:
    with bind_all(config(tmp_path)) as (listener,):
        pass
    assert listener.socket.fileno() == -1


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"listeners": "PLAINTEXT://0.0.0.0:0"}, True),
        ({"listeners": "PLAINTEXT://[::]:0"}, True),
        ({"listeners": "PLAINTEXT://:0"}, True),
        ({"listeners": "SSL://0.0.0.0:0"}, True),
        ({"listeners": "SSL://0.0.0.0:0", "ssl.client.auth": "requested"}, True),
        ({"listeners": "SSL://0.0.0.0:0", "ssl.client.auth": "required"}, False),
        ({"listeners": "SASL_PLAINTEXT://0.0.0.0:0"}, False),
        ({"listeners": "SASL_SSL://0.0.0.0:0"}, False),
        ({"listeners": "PLAINTEXT://0.0.0.0:0", "listener.allow.anonymous": True}, False),
        ({"listeners": "SASL_SSL://0.0.0.0:0,PLAINTEXT://0.0.0.0:0"}, True),
        (
            {
                "listeners": "A://0.0.0.0:0,B://0.0.0.0:0",
                "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
                "listener.name.a.listener.allow.anonymous": "true",
            },
            True,
        ),
        ({"listeners": "PLAINTEXT://127.0.0.1:0,PLAINTEXT://localhost:0"}, False),
    ],
)
def test_who_listens_beyond_loopback_asks_who_is_there_or_says_that_it_need_not(
    tmp_path: Path, settings: dict[str, object], is_refused: bool
) -> None:
    """The class of CVE-2023-33246 and of its like: a door that is open by default."""
    if not is_refused:
        with bind_all(config(tmp_path, settings)):
            return
    with pytest.raises(CannotListen, match="--allow-anonymous") as raised, bind_all(config(tmp_path, settings)):
        pass
    assert raised.value.is_configuration


@pytest.mark.parametrize(
    ("listeners", "mechanisms", "told"),
    [
        ("SASL_PLAINTEXT://0.0.0.0:0", "PLAIN,SCRAM-SHA-256", "by PLAIN (sasl.enabled.mechanisms)"),
        ("SASL_PLAINTEXT://[::]:0", "PLAIN,OAUTHBEARER", "by PLAIN and OAUTHBEARER (sasl.enabled.mechanisms)"),
        ("SASL_PLAINTEXT://0.0.0.0:0", "SCRAM-SHA-256,SCRAM-SHA-512", None),
        ("SASL_PLAINTEXT://127.0.0.1:0", "PLAIN,OAUTHBEARER", None),
        ("SASL_SSL://0.0.0.0:0", "PLAIN,OAUTHBEARER", None),
    ],
)
def test_secrets_that_others_could_read_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, listeners: str, mechanisms: str, told: str | None
) -> None:
    with bind_all(config(tmp_path, {"listeners": listeners, "sasl.enabled.mechanisms": mechanisms})):
        pass
    assert [record.levelname for record in caplog.records] == ([] if told is None else ["WARNING"])
    if told is not None:
        assert f"{listeners} is not loopback" in caplog.text
        assert told in caplog.text
