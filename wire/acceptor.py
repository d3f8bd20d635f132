"""Accepts a door's connections, within its limits, and keeps them until they end."""

import errno
import logging
import socket
from collections import Counter
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import trio
from attrs import frozen

from wire.socket_options import tune
from wire.transport import SocketTransport, Transport

ACCEPTS_PER_TURN = 8
PAUSE_S = 0.1
OUT_OF_MEANS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Connection(Protocol):
    """One of the door's."""

    async def run(self) -> None:
        """Serve until either side ends it."""


C = TypeVar("C", bound=Connection)
Connect = Callable[[Transport, int], C]
"""Makes a connection of a transport, with its number among all that were accepted."""


@frozen
class ConnectionLimits:
    """How many there may be; the keys of the configuration that say so are named to who is refused."""

    most: int
    key: str
    most_per_address: int | None = None
    key_per_address: str = ""


def _no_room() -> bool:
    return False


class Acceptor(Generic[C]):
    """Of one door, on any number of listeners.

    `make_room` is asked when there are as many connections as may be: it lets go of one and tells that it did.
    """

    def __init__(
        self, limits: ConnectionLimits, logger: logging.Logger, make_room: Callable[[], bool] = _no_room
    ) -> None:
        self.connections: dict[int, C] = {}
        self.ended: Counter[str] = Counter()
        """Connections that we ended, by reason."""
        self._limits = limits
        self._logger = logger
        self._make_room = make_room
        self._per_address: Counter[str] = Counter()
        self._accepted = 0
        self._refused = 0

    async def serve(self, listener: socket.socket, connect: Connect[C]) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        async with trio.open_nursery() as nursery:
            while True:
                await trio.lowlevel.wait_readable(listener)
                if not self._accept(listener, connect, nursery):
                    await trio.sleep(PAUSE_S)

    def _accept(self, listener: socket.socket, connect: Connect[C], nursery: trio.Nursery) -> bool:
        """Some of those who wait; False if the machine has nothing left for more of them."""
        for _ in range(ACCEPTS_PER_TURN):
            try:
                sock, address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return True
            except OSError as error:
                if error.errno not in OUT_OF_MEANS:
                    raise
                self._logger.error("cannot accept a connection: %s", error)
                return False
            refusal = self._refusal(address[0])
            if refusal is not None:
                self._refused += 1
                self._logger.warning("connection refused: %s", refusal, extra={"address": address[0]})
                sock.close()
                continue
            tune(sock)
            self.admit(SocketTransport(sock, address[:2]), connect, nursery)
        return True

    def _refusal(self, address: str) -> str | None:
        limits = self._limits
        if len(self.connections) >= limits.most and not self._make_room():
            return f"{limits.key}={limits.most} is reached"
        most = limits.most_per_address
        if most is not None and self._per_address[address] >= most:
            return f"{limits.key_per_address}={most} is reached"
        return None

    def admit(self, transport: Transport, connect: Connect[C], nursery: trio.Nursery) -> None:
        """Serve a connection in the nursery."""
        self._accepted += 1
        number, address = self._accepted, transport.address
        connection = self.connections[number] = connect(transport, number)
        self._per_address[address[0]] += 1
        nursery.start_soon(self._run, number, connection, transport)

    async def _run(self, number: int, connection: C, transport: Transport) -> None:
        address, port = transport.address
        try:
            await connection.run()
        except Exception:
            self.ended["failed"] += 1
            self._logger.exception("connection %s:%d failed", address, port)
        finally:
            transport.close()
            self.connections.pop(number, None)
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return {"connections": len(self.connections), "accepted": self._accepted, "refused": self._refused}
