"""A network in memory: nodes listen by name, and what is sent over a connection arrives in its order, cut into pieces
by chance. Nothing of it is the kernel's, so the same seed gives the same pieces at the same times.

Between two hosts the way may be cut, in one direction or in both: what is sent does not arrive, nobody is told, and
once it is healed all of it comes, as TCP would have it. It may be slow. A host may lose its power, and then says no
more: the other ends learn of it by waiting too long, or by a reset when they write to it after it has come back.
"""

import errno
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence

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
Way = tuple[str, str]
"""From one host to another."""


@define(eq=False)
class _Direction:
    """Bytes on their way from one end to the other."""

    network: "Network"
    way: Way
    data: bytearray = field(factory=bytearray, init=False)
    has_ended: bool = field(default=False, init=False)
    """Nothing follows, and who receives knows it."""
    is_closed: bool = field(default=False, init=False)
    """Nothing follows, as who sends has decided."""
    is_broken: bool = field(default=False, init=False)
    """Nobody receives any more."""
    on_way: deque[bytes] = field(factory=deque, init=False)
    """What has not arrived yet; an empty piece is the end."""
    on_way_bytes: int = field(default=0, init=False)
    is_void: bool = field(default=False, init=False)
    """One of its ends has lost its power: nothing arrives any more."""
    is_reset: bool = field(default=False, init=False)
    _changed: trio.Event | None = field(default=None, init=False)

    @property
    def _room(self) -> int:
        return CAPACITY_BYTES - len(self.data) - self.on_way_bytes

    @property
    def _is_over(self) -> bool:
        """Whether who sends knows that nobody receives."""
        return self.is_reset or (self.is_broken and not self.is_void and self.network.is_open(self.way))

    def put(self, data: Buffer) -> int:
        if self.is_closed or self._is_over:
            raise BrokenPipeError(errno.EPIPE, "the other end is gone")
        room = self._room
        if room <= 0:
            raise BlockingIOError(errno.EAGAIN, "no room")
        piece = bytes(memoryview(data)[:room])
        self._send(piece)
        return len(piece)

    def end(self) -> None:
        """Nothing follows."""
        if not self.is_closed:
            self.is_closed = True
            self._send(b"")

    def _send(self, piece: bytes) -> None:
        if not (self.on_way or self.is_void) and self.network.is_quick(self.way):
            self._arrive(piece)
        else:
            self.on_way.append(piece)
            self.on_way_bytes += len(piece)
            self.network.carry(self)

    def arrive(self) -> None:
        """The next piece that is on its way does, if the way is open."""
        if self.on_way and not self.is_void and self.network.is_open(self.way):
            piece = self.on_way.popleft()
            self.on_way_bytes -= len(piece)
            self._arrive(piece)

    def _arrive(self, piece: bytes) -> None:
        if not piece:
            self.has_ended = True
        elif not self.is_broken:
            self.data += piece
        self.change()

    def reset(self) -> None:
        """Whoever is at the ends is told that the connection is no more."""
        self.is_reset = self.has_ended = True
        self.data.clear()
        self.on_way.clear()
        self.on_way_bytes = 0
        self.change()

    def take(self, space: memoryview) -> int:
        if self.is_reset:
            raise ConnectionResetError(errno.ECONNRESET, "the other end has forgotten it")
        size = min(len(space), len(self.data))
        if not size:
            if self.has_ended:
                return 0
            raise BlockingIOError(errno.EAGAIN, "nothing there")
        chance = self.network.chance
        if size > 1 and chance.random() < CUT:
            size = chance.randrange(1, size)
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
        while self._room <= 0 and not self._is_over:
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
        self._outgoing.end()

    def has_ended(self) -> bool:
        return self._incoming.has_ended

    def close(self) -> None:
        self._incoming.is_broken = True
        self._incoming.data.clear()
        self._incoming.change()
        self._outgoing.end()


@define(eq=False)
class _Connection:
    """Both directions between who has connected and who has admitted it."""

    there: _Direction
    back: _Direction

    @property
    def directions(self) -> tuple[_Direction, _Direction]:
        return self.there, self.back

    @property
    def is_over(self) -> bool:
        return all(each.is_reset or (each.is_closed and (each.is_void or not each.on_way)) for each in self.directions)

    def reset(self) -> None:
        for direction in self.directions:
            direction.reset()


@define(eq=False)
class Network:
    """Who listens, by name, and how each can be reached by each."""

    chance: random.Random
    _listeners: dict[str, Admit] = field(factory=dict, init=False)
    _dark: set[str] = field(factory=set, init=False)
    """Hosts that have lost their power and are not back."""
    _cut: set[Way] = field(factory=set, init=False)
    _delays: dict[Way, float] = field(factory=dict, init=False)
    """The longest that something takes on a way that is slow."""
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _connections: list[_Connection] = field(factory=list, init=False)
    _numbers: "itertools.count[int]" = field(factory=lambda: itertools.count(1), init=False)
    _arrivals: list[tuple[float, int, _Direction]] = field(factory=list, init=False)
    _sent: trio.Event = field(factory=trio.Event, init=False)

    # -- faults

    def cut(self, source: str, target: str) -> None:
        """Nothing gets from the one to the other any more."""
        self._cut.add((source, target))

    def heal(self, ways: Collection[Way] | None = None) -> None:
        """These ways are open and quick again, or all; what was held up arrives."""
        healed = {*self._cut, *self._delays} if ways is None else set(ways)
        self._cut -= healed
        self._delays = {way: delay for way, delay in self._delays.items() if way not in healed}
        for connection in self._connections:
            for direction in connection.directions:
                while direction.way in healed and direction.on_way and not direction.is_void:
                    direction.arrive()
                direction.change()
        self._tell()

    def slow_down(self, source: str, target: str, longest_s: float) -> None:
        """What is sent takes some time, up to this."""
        self._delays[source, target] = longest_s

    def reset_some(self, share: float) -> int:
        """Some connections break, and both ends are told; the number of them."""
        broken = [one for one in self._connections if not one.is_over and self.chance.random() < share]
        for connection in broken:
            connection.reset()
        return len(broken)

    def darken(self, host: str) -> None:
        """It has lost its power: its connections fall silent, and nobody is told."""
        self._listeners.pop(host, None)
        self._dark.add(host)
        for connection in self._connections:
            if host in connection.there.way:
                for direction in connection.directions:
                    direction.is_void = True

    # -- ways

    def is_open(self, way: Way) -> bool:
        return way not in self._cut

    def is_joined(self, one: str, other: str) -> bool:
        """Whether both can reach each other."""
        return not self._cut or ((one, other) not in self._cut and (other, one) not in self._cut)

    def is_quick(self, way: Way) -> bool:
        """Whether what is sent arrives at once."""
        return way not in self._cut and way not in self._delays

    def carry(self, direction: _Direction) -> None:
        """Have the next piece arrive when its time has come; where the way is cut, it waits until that is healed."""
        if direction.is_void and self._dark.isdisjoint(direction.way):
            # The host is there again, and knows nothing of this connection.
            for connection in self._connections:
                if direction in connection.directions:
                    connection.reset()
        elif self.is_open(direction.way):
            due = trio.current_time() + self.chance.random() * self._delays.get(direction.way, 0.0)
            heapq.heappush(self._arrivals, (due, next(self._numbers), direction))
            self._sent.set()

    async def live(self) -> None:
        """Let what is on its way arrive."""
        while True:
            next_s = self._arrivals[0][0] if self._arrivals else float("inf")
            if next_s <= trio.current_time():
                heapq.heappop(self._arrivals)[2].arrive()
                continue
            self._sent = trio.Event()
            with trio.move_on_at(next_s):
                await self._sent.wait()

    # -- connections

    def listen(self, host: str, admit: Admit) -> None:
        """Connections to this host are admitted from now on."""
        self._listeners[host] = admit
        self._dark.discard(host)
        for connection in self._connections:
            # What was sent to it in the dark is sent again, and it knows nothing of the connection.
            if any(each.is_void and each.way[1] == host and each.on_way for each in connection.directions):
                connection.reset()
        self._tell()

    def deafen(self, host: str) -> None:
        """Nobody gets through to this host any more; the connections that it has are its own business."""
        self._listeners.pop(host, None)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def connect(self, host: str, source: str = "client") -> TransportStream:
        """A connection to the host, once it listens."""
        while host not in self._listeners or not self.is_joined(source, host):
            await self._changed.wait()
        return self._connected(host, source)

    async def dial(self, host: str, source: str) -> TransportStream:
        """A connection to the host; refused if nobody listens there, and without an end if it cannot be reached."""
        await trio.lowlevel.checkpoint()
        while host in self._dark or not self.is_joined(source, host):
            await self._changed.wait()
        if host not in self._listeners:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"{host} does not listen")
        return self._connected(host, source)

    def _connected(self, host: str, source: str) -> TransportStream:
        self._connections = [each for each in self._connections if not each.is_over]
        there, back = _Direction(self, (source, host)), _Direction(self, (host, source))
        self._connections.append(_Connection(there, back))
        client, server = (source, next(self._numbers)), (host, PORT)
        self._listeners[host](MemoryTransport(there, back, client, server))
        return TransportStream(MemoryTransport(back, there, server, client))
