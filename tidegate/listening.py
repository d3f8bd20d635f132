"""The sockets that the broker listens on: bound before anything is recovered, so that a port in use is told at once."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from attrs import frozen

from engine.config.listeners import Listener
from tidegate.config import BrokerConfig
from wire.kafka.request import Endpoint

BACKLOG = 1024
WILDCARDS = ("", "0.0.0.0", "::")


class CannotListen(Exception):
    """An address that cannot be listened on."""


@frozen
class BoundListener:
    """A bound socket and what its clients are told; None where they are told the address they came by."""

    socket: socket.socket
    endpoint: Endpoint | None

    @property
    def address(self) -> str:
        """Host and port as bound."""
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def listen(self) -> None:
        """Let clients connect."""
        self.socket.listen(BACKLOG)


@contextmanager
def bind_all(config: BrokerConfig) -> Iterator[list[BoundListener]]:
    """Bind every listener of the configuration; they are closed at the end of the block."""
    advertised = config.advertised_listeners
    with ExitStack() as stack:
        bound = []
        for number, listener in enumerate(config.listeners):
            sock = stack.enter_context(_bind(listener))
            told = advertised[number] if number < len(advertised) else None
            bound.append(BoundListener(sock, _endpoint(listener, told, sock)))
        yield bound


def _bind(listener: Listener) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            listener.host or None, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"cannot listen on {listener}: {error.strerror}") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise CannotListen(
            f"cannot listen on {listener}: {error.strerror}; choose another port with --kafka-port"
        ) from error
    return sock


def _endpoint(listener: Listener, told: Listener | None, sock: socket.socket) -> Endpoint | None:
    port = sock.getsockname()[1]
    if told is not None:
        return Endpoint(told.host, told.port or port)
    if listener.host in WILDCARDS:
        return None
    return Endpoint(listener.host, port)
