"""A TCP proxy between clients and a broker that cuts connections where a seeded plan says.

The broker has to advertise the proxy's address, so that clients come back through it.
"""

import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from attrs import define, field

from compat_tests.brokers import broker

PRODUCE = 0
# Records go one way, and short answers the other.
WHERE_CUT = {"to broker": (500, 40_000), "to client": (700, 2500)}


@define
class Plan:
    """Which connections are cut, and where. Without any, everything passes."""

    seed: int = 0
    cuts: int = 0
    """How many connections are cut after a random number of bytes, in a random direction."""
    lost_answers: int = 0
    """How many Produce requests reach the broker without their answer reaching the client."""
    every: int = 5
    """Of how many Produce requests one loses its answer."""
    _random: random.Random = field(init=False)
    _produced: int = field(default=0, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    done: list[str] = field(factory=list, init=False)
    """What was done, for the test to see that anything was."""

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def budget(self) -> tuple[str, int] | None:
        """For a new connection: in which direction and after how many bytes it is cut."""
        with self._lock:
            if self.cuts <= 0:
                return None
            self.cuts -= 1
            direction = self._random.choice(tuple(WHERE_CUT))
            return direction, self._random.randint(*WHERE_CUT[direction])

    def loses_answer(self) -> bool:
        """Asked once for each Produce request that passes."""
        with self._lock:
            self._produced += 1
            if self.lost_answers <= 0 or self._produced % self.every:
                return False
            self.lost_answers -= 1
            self.done.append("answer lost")
            return True


@define
class Proxy:
    """Listens on a port of its own and passes on to `upstream_port`, from its start on."""

    upstream_port: int = 0
    plan: Plan = field(factory=Plan)
    _listener: socket.socket = field(init=False)
    _open: set[socket.socket] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def start(self) -> None:
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._listener.close()
        for end in list(self._open):
            _cut(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                upstream = socket.create_connection(("127.0.0.1", self.upstream_port))
            except OSError:
                return
            for end in (client, upstream):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.add(end)
            _Link(client, upstream, self.plan).start()


@define
class _Link:
    """One connection through the proxy."""

    client: socket.socket
    upstream: socket.socket
    plan: Plan
    _budget: tuple[str, int] | None = field(init=False)
    _deaf: bool = field(default=False, init=False)
    _requests: "_Requests" = field(factory=lambda: _Requests(), init=False)

    def start(self) -> None:
        self._budget = self.plan.budget()
        for direction, source, sink in (
            ("to broker", self.client, self.upstream),
            ("to client", self.upstream, self.client),
        ):
            threading.Thread(target=self._pump, args=(direction, source, sink), daemon=True).start()

    def _pump(self, direction: str, source: socket.socket, sink: socket.socket) -> None:
        passed = 0
        try:
            while data := source.recv(65_536):
                if direction == "to broker":
                    self._deaf |= any(self.plan.loses_answer() for _ in self._requests.produces(data))
                elif self._deaf:
                    break  # the broker has answered, so the request is done: now lose the answer
                if self._budget is not None and self._budget[0] == direction:
                    left = self._budget[1] - passed
                    if len(data) >= left:
                        sink.sendall(data[:left])
                        self.plan.done.append(f"cut {direction}")
                        break
                sink.sendall(data)
                passed += len(data)
        except OSError:
            pass
        finally:
            _cut(self.client)
            _cut(self.upstream)


@define
class _Requests:
    """Finds the Produce requests in the bytes that a client sends."""

    _rest: bytes = b""
    _skip: int = 0

    def produces(self, data: bytes) -> Iterator[None]:
        """One item per Produce request that begins in `data`."""
        while data:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            self._rest, data = self._rest + data[skipped:], b""
            if self._skip == 0 and len(self._rest) >= 6:
                size, key = struct.unpack_from(">ih", self._rest)
                self._skip = size - 2
                data, self._rest = self._rest[6:], b""
                if key == PRODUCE:
                    yield


def _cut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def broker_behind_proxy() -> Iterator[Proxy]:
    """A broker of its own that is reached through the proxy alone."""
    proxy = Proxy()
    with broker({"advertised.listeners": f"PLAINTEXT://{proxy.address}"}) as address:
        proxy.upstream_port = int(address.rsplit(":", 1)[1])
        proxy.start()
        try:
            yield proxy
        finally:
            proxy.stop()
