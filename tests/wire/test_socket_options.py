"""Connections are set up for answers that leave at once, and without pacing where they stay on the machine."""

import socket
from collections.abc import Iterator

import pytest

from wire import socket_options
from wire.socket_options import LOCAL_CONGESTION_CONTROL, begin_unpaced, tune


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


@pytest.fixture
def from_elsewhere(monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "_is_local", lambda _: False)


def accepted(listener: socket.socket) -> socket.socket:
    with socket.create_connection(listener.getsockname()):
        sock, _ = listener.accept()
        return sock


def test_answers_leave_at_once_and_vanished_clients_are_noticed(listener: socket.socket) -> None:
    with accepted(listener) as sock:
        tune(sock)
        assert not sock.getblocking()
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@pytest.mark.usefixtures("default")
def test_nothing_is_paced_within_the_machine(listener: socket.socket) -> None:
    begin_unpaced(listener)
    with accepted(listener) as sock:
        tune(sock)
        assert congestion_control(sock) == LOCAL_CONGESTION_CONTROL


@pytest.mark.usefixtures("from_elsewhere")
def test_what_leaves_the_machine_is_left_to_its_settings(listener: socket.socket, default: bytes) -> None:
    begin_unpaced(listener)
    with accepted(listener) as sock:
        tune(sock)
        assert congestion_control(sock) == default


@pytest.mark.usefixtures("from_elsewhere")
def test_the_congestion_control_of_a_route_stays(listener: socket.socket, monkeypatch) -> None:
    with accepted(listener) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        monkeypatch.setattr(socket_options, "LOCAL_CONGESTION_CONTROL", b"another")
        tune(sock)
        assert congestion_control(sock) == b"reno"


def test_one_that_does_not_pace_stays(listener: socket.socket, monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "PACING", b"some other")
    before = congestion_control(listener)
    begin_unpaced(listener)
    assert congestion_control(listener) == before


def test_where_it_may_not_be_chosen_nothing_changes(listener: socket.socket, default: bytes, monkeypatch) -> None:
    monkeypatch.setattr(socket_options, "LOCAL_CONGESTION_CONTROL", b"no such one")
    begin_unpaced(listener)
    assert congestion_control(listener) == default


def test_a_client_that_is_gone_already_is_no_error(listener: socket.socket) -> None:
    client = socket.create_connection(listener.getsockname())
    sock, _ = listener.accept()
    with sock:
        # A reset, as of a client that is killed with data unread.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        tune(sock)
        assert not sock.getblocking()
