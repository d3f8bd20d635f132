"""Connections are set up for answers that leave at once, and without pacing where they stay on the machine."""

import socket
from collections.abc import Iterator

import pytest

from wire.kafka import socket_options
from wire.kafka.socket_options import LOCAL_CONGESTION_CONTROL, tune


@pytest.fixture
def accepted() -> Iterator[socket.socket]:
    """Our end of a connection over the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        sock, _ = listener.accept()
        with sock:
            yield sock


def congestion_control(sock: socket.socket) -> bytes:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


def test_answers_leave_at_once_and_vanished_clients_are_noticed(accepted: socket.socket) -> None:
    tune(accepted)
    assert not accepted.getblocking()
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_nothing_is_paced_within_the_machine(accepted: socket.socket) -> None:
    tune(accepted)
    assert congestion_control(accepted) == LOCAL_CONGESTION_CONTROL


def test_what_leaves_the_machine_is_left_to_its_settings(accepted: socket.socket, monkeypatch) -> None:
    before = congestion_control(accepted)
    monkeypatch.setattr(socket_options, "LOCAL_CONGESTION_CONTROL", b"cubic" if before == b"reno" else b"reno")
    monkeypatch.setattr(socket_options, "_is_local", lambda _: False)
    tune(accepted)
    assert congestion_control(accepted) == before


def test_where_it_cannot_be_chosen_the_connection_works_all_the_same(accepted: socket.socket, monkeypatch) -> None:
    before = congestion_control(accepted)
    monkeypatch.setattr(socket_options, "LOCAL_CONGESTION_CONTROL", b"no such one")
    tune(accepted)
    assert congestion_control(accepted) == before
    assert not accepted.getblocking()


def test_a_client_that_is_gone_already_is_no_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        sock, _ = listener.accept()
        with sock:
            # A reset, as by a client that is killed with data unread.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
            tune(sock)
            assert not sock.getblocking()
