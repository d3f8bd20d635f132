"""Accepts a door's connections, within its limits, and keeps them until they end."""

import errno
import logging
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

import trio
from attrs import Factory, frozen

from coordinators.access.callers import plain_address
from wire.socket_options import tune
from wire.transport import SocketTransport, Transport

ACCEPTS_PER_TURN = 8
PAUSE_S = 0.1
MOMENT_S = 0.005
MOST_HELD = 100
"""So many refused connections are closed later at most; the others are at once."""
NO_LISTENER = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)
"""Errors of a socket that is closed or never listened. All others pass: the machine has nothing left for now, or who
was to be accepted had an error of its own."""


class Connection(Protocol):
    """One of the door's."""

    async def run(self) -> None:
        """Serve until either side ends it."""


class Waiting(Connection, Protocol):
    """One that can lose its place to another."""

    @property
    def scope(self) -> trio.CancelScope:
        """In which it runs."""

    @property
    def waiting_since(self) -> float | None:
        """Since when we wait for its client to say what it wants, or who it is; None if it is ours to go on."""


C = TypeVar("C", bound=Connection)
W = TypeVar("W", bound=Waiting)
Connect = Callable[[Transport, int], C]
"""Makes a connection of a transport, with its number among all that were accepted."""


@frozen
class ConnectionLimits:
    """How many there may be; the keys of the configuration that say so are named to who is refused."""

    most: int
    key: str
    most_per_address: int | None = None
    key_per_address: str = ""
    address_overrides: Mapping[str, int] = Factory(dict)
    """Addresses that may have another number than most."""


@frozen
class Refusal:
    """Why a connection is not served. It is closed after `delay_s`: whoever connects too fast comes back later then."""

    reason: str
    delay_s: float = 0.0


class Doorkeeper(Protocol):
    """What decides about the connections of one listener, besides how many there may be in all."""

    def refusal(self, address: str, /) -> Refusal | None:
        """Why a connection that was accepted is not served."""

    def pause_s(self) -> float:
        """How long to wait before the next is accepted."""

    def entered(self) -> None:
        """It is served."""

    def left(self) -> None:
        """It is gone."""


class OpenDoor:
    """Lets everybody in."""

    def refusal(self, _: str) -> Refusal | None:
        return None

    def pause_s(self) -> float:
        return 0.0

    def entered(self) -> None:
        """Nobody counts."""

    def left(self) -> None:
        """Nobody counts."""


OPEN = OpenDoor()


def _no_room() -> bool:
    return False


def displace(connections: dict[int, W]) -> bool:
    """Take its place from the connection that we wait for longest; False if all of them wait for us."""
    waiting = [(each.waiting_since, number) for number, each in connections.items() if each.waiting_since is not None]
    if not waiting:
        return False
    _, number = min(waiting)
    connections.pop(number).scope.cancel()
    return True


def _none() -> int:
    return 0


class Acceptor(Generic[C]):
    """Of one door, on any number of listeners.

    `make_room` is asked when there are as many connections as may be: it lets go of one and tells that it did.
    `set_apart` tells how many of the connections are bounded otherwise, and do not count. `is_room_near` is asked
    when there is no room, before another is accepted: while it is, those who come at once wait for their turn.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        logger: logging.Logger,
        make_room: Callable[[], bool] = _no_room,
        set_apart: Callable[[], int] = _none,
        is_room_near: Callable[[], bool] = _no_room,
    ) -> None:
        self.connections: dict[int, C] = {}
        self.ended: Counter[str] = Counter()
        """Connections that we ended, by reason."""
        self._limits = limits
        self._logger = logger
        self._make_room = make_room
        self._set_apart = set_apart
        self._is_room_near = is_room_near
        self._per_address: Counter[str] = Counter()
        self._accepted = 0
        self._refused = 0
        self._held = 0

    async def serve(self, listener: socket.socket, connect: Connect[C], gate: Doorkeeper = OPEN) -> None:
        """Accept for ever; `listener` is bound, listening and non-blocking."""
        async with trio.open_nursery() as nursery:
            while True:
                await trio.lowlevel.wait_readable(listener)
                while self._has_to_wait():  # noqa: ASYNC110
                    await trio.sleep(MOMENT_S)
                if not self._accept(listener, connect, nursery, gate):
                    await trio.sleep(PAUSE_S)
                while (pause_s := gate.pause_s()) > 0:  # noqa: ASYNC110
                    await trio.sleep(pause_s)

    def _accept(self, listener: socket.socket, connect: Connect[C], nursery: trio.Nursery, gate: Doorkeeper) -> bool:
        """Some of those who wait; False if none can be accepted now."""
        for _ in range(ACCEPTS_PER_TURN):
            if self._has_to_wait():
                return True
            try:
                sock, address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return True
            except OSError as error:
                if error.errno in NO_LISTENER:
                    raise
                self._logger.error("cannot accept a connection: %s", error)
                return False
            refusal = self._refusal(address[0]) or gate.refusal(plain_address(address[0]))
            if refusal is not None:
                self._refuse(sock, address[0], refusal, nursery)
                continue
            tune(sock)
            self.admit(SocketTransport(sock, address[:2]), connect, nursery, gate)
            if gate.pause_s() > 0:
                return True
        return True

    def _refuse(self, sock: socket.socket, address: str, refusal: Refusal, nursery: trio.Nursery) -> None:
        self._refused += 1
        self._logger.warning("connection refused: %s", refusal.reason, extra={"address": address})
        if refusal.delay_s > 0 and self._held < MOST_HELD:
            nursery.start_soon(self._close_later, sock, refusal.delay_s)
        else:
            sock.close()

    async def _close_later(self, sock: socket.socket, delay_s: float) -> None:
        self._held += 1
        try:
            await trio.sleep(delay_s)
        finally:
            self._held -= 1
            sock.close()

    def _is_full(self) -> bool:
        return len(self.connections) - self._set_apart() >= self._limits.most

    def _has_to_wait(self) -> bool:
        return self._is_full() and self._is_room_near()

    def _refusal(self, address: str) -> Refusal | None:
        limits = self._limits
        if self._is_full() and not self._make_room():
            return Refusal(f"{limits.key}={limits.most} is reached")
        most = limits.address_overrides.get(plain_address(address), limits.most_per_address)
        if most is not None and self._per_address[address] >= most:
            return Refusal(f"{limits.key_per_address}={most} is reached")
        return None

    def admit(self, transport: Transport, connect: Connect[C], nursery: trio.Nursery, gate: Doorkeeper = OPEN) -> None:
        """Serve a connection in the nursery."""
        self._accepted += 1
        number, address = self._accepted, transport.address
        connection = self.connections[number] = connect(transport, number)
        self._per_address[address[0]] += 1
        gate.entered()
        nursery.start_soon(self._run, number, connection, transport, gate)

    async def _run(self, number: int, connection: C, transport: Transport, gate: Doorkeeper) -> None:
        address, port = transport.address
        try:
            await connection.run()
        except Exception:
            self.ended["failed"] += 1
            self._logger.exception("connection %s:%d failed", address, port)
        finally:
            transport.close()
            gate.left()
            self.connections.pop(number, None)
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    def statistics(self) -> dict[str, int]:
        """Connections, now and so far."""
        return {"connections": len(self.connections), "accepted": self._accepted, "refused": self._refused}
