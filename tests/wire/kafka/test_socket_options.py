"""Connections are set up for answers that leave at once, and without pacing where they stay on the machine."""

import socket
from collections.abc import Iterator

import pytest

from wire.kafka import socket_options
from wire.kafka.socket_options import LOCAL_CONGESTION_CONTROL, begin_unpaced, tune


def congestion_control(sock: socket.socket) -> bytes:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


@pytest.fixture
def default(listener: socket.socket, monkeypatch) -> bytes:
    """The machine's own congestion control, which is taken for one that paces whatever it is."""
    name = congestion_control(listener)
    monkeypatch.setattr(socket_options, "PACING", name)
    return name


def accepted(listener: socket.socket, congestion_control: bytes | None) -> socket.socket:
    with socket.create_connection(listener.getsockname()):
        sock, _ = listener.accept()
        tune(sock, congestion_control)
        return sock


def test_answers_leave_at_once_and_vanished_clients_are_noticed(listener: socket.socket) -> None:
    with accepted(listener, None) as sock:
        assert not sock.getblocking()
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_nothing_is_paced_within_the_machine(listener: socket.socket, default: bytes) -> None:
    chosen = begin_unpaced(listener)
    assert chosen == default
    with accepted(listener, chosen) as sock:
        assert congestion_control(sock) == LOCAL_CONGESTION_CONTROL


def test_what_leaves_the_machine_is_left_to_its_settings(listener: socket.socket, default: bytes, monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "_is_local", lambda _: False)
    with accepted(listener, begin_unpaced(listener)) as sock:
        assert congestion_control(sock) == default


def test_the_congestion_control_of_a_route_stays(listener: socket.socket, default: bytes, monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "_is_local", lambda _: False)
    with accepted(listener, b"another than the route's") as sock:
        assert congestion_control(sock) == default


def test_one_that_does_not_pace_stays(listener: socket.socket, monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "PACING", b"some other")
    before = congestion_control(listener)
    assert begin_unpaced(listener) is None
    assert congestion_control(listener) == before


def test_where_it_may_not_be_chosen_nothing_changes(listener: socket.socket, default: bytes, monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "LOCAL_CONGESTION_CONTROL", b"no such one")
    assert begin_unpaced(listener) is None
    assert congestion_control(listener) == default


def test_a_client_that_is_gone_already_is_no_error(listener: socket.socket) -> None:
    client = socket.create_connection(listener.getsockname())
    sock, _ = listener.accept()
    with sock:
        # A reset, as of a client that is killed with data unread.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        tune(sock, b"reno")
        assert not sock.getblocking()
