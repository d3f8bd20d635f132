"""A network in memory: nodes listen by name, and what is sent over a connection arrives in its order, cut into pieces
by chance. Nothing of it is the kernel's, so the same seed gives the same pieces at the same times."""

import errno
import random
from collections.abc import Callable, Sequence

import trio
from attrs import define, field

from engine.files.files import Buffer
from wire.transport import Address, Transport, TransportStream

CAPACITY_BYTES = 32 * 1024
"""What a connection holds that was sent and not yet received, in each direction."""
CUT = 0.2
"""The share of arrivals that come in pieces."""
PORT = 9092

Admit = Callable[[Transport], object]


@define(eq=False)
class _Direction:
    """Bytes on their way from one end to the other."""

    chance: random.Random
    data: bytearray = field(factory=bytearray, init=False)
    has_ended: bool = field(default=False, init=False)
    """Nothing follows."""
    is_broken: bool = field(default=False, init=False)
    """Nobody receives any more."""
    _changed: trio.Event | None = field(default=None, init=False)

    def put(self, data: Buffer) -> int:
        if self.is_broken or self.has_ended:
            raise BrokenPipeError(errno.EPIPE, "the other end is gone")
        room = CAPACITY_BYTES - len(self.data)
        if room <= 0:
            raise BlockingIOError(errno.EAGAIN, "no room")
        piece = memoryview(data)[:room]
        self.data += piece
        self.change()
        return len(piece)

    def take(self, space: memoryview) -> int:
        size = min(len(space), len(self.data))
        if not size:
            if self.has_ended:
                return 0
            raise BlockingIOError(errno.EAGAIN, "nothing there")
        if size > 1 and self.chance.random() < CUT:
            size = self.chance.randrange(1, size)
        space[:size] = self.data[:size]
        del self.data[:size]
        self.change()
        return size

    def change(self) -> None:
        """Whoever waits looks again."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def _change(self) -> None:
        if self._changed is None:
            self._changed = trio.Event()
        await self._changed.wait()

    async def readable(self) -> None:
        await trio.lowlevel.checkpoint()
        while not (self.data or self.has_ended):
            await self._change()

    async def writable(self) -> None:
        await trio.lowlevel.checkpoint()
        while len(self.data) >= CAPACITY_BYTES and not self.is_broken:
            await self._change()


class MemoryTransport:
    """One end of a connection."""

    def __init__(self, incoming: _Direction, outgoing: _Direction, address: Address, local_address: Address) -> None:
        self.address = address
        self.local_address = local_address
        self.readable = incoming.readable
        self.receive_into = incoming.take
        self.writable = outgoing.writable
        self._incoming = incoming
        self._outgoing = outgoing

    def send(self, data: Buffer, _flags: int) -> int:
        return self._outgoing.put(data)

    def send_parts(self, parts: Sequence[Buffer], _flags: int) -> int:
        return self._outgoing.put(b"".join(parts))

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        raise AssertionError("files in memory have no descriptors")

    def end_sending(self) -> None:
        self._outgoing.has_ended = True
        self._outgoing.change()

    def close(self) -> None:
        self._incoming.is_broken = True
        self._incoming.data.clear()
        self._incoming.change()
        self.end_sending()


@define(eq=False)
class Network:
    """Who listens, by name."""

    chance: random.Random
    _listeners: dict[str, Admit] = field(factory=dict, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _connections: int = field(default=0, init=False)

    def listen(self, host: str, admit: Admit) -> None:
        """Connections to this host are admitted from now on."""
        self._listeners[host] = admit
        self._changed.set()
        self._changed = trio.Event()

    def deafen(self, host: str) -> None:
        """Nobody gets through to this host any more; the connections that it has are its own business."""
        self._listeners.pop(host, None)

    async def connect(self, host: str) -> TransportStream:
        """A connection to the host, once it listens."""
        while host not in self._listeners:
            await self._changed.wait()
        self._connections += 1
        there, back = _Direction(self.chance), _Direction(self.chance)
        client, server = ("client", self._connections), (host, PORT)
        self._listeners[host](MemoryTransport(there, back, client, server))
        return TransportStream(MemoryTransport(back, there, server, client))
