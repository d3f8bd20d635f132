"""A broker in this process and clients that speak to it in frames, for the tests of the Kafka door."""

import struct
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from attrs import define, field

from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from wire.kafka.apis import registered
from wire.kafka.codec import is_flexible, request_encoder, response_decoder

PATIENCE_S = 10.0
API_VERSIONS_KEY = 18


class Closed(Exception):
    """The broker ended the connection."""


def frame(request: Any, version: int, correlation_id: int, client_id: str = "test") -> bytes:
    """A request as it goes over the wire, its length included."""
    key = request.API_KEY
    name = client_id.encode()
    header = struct.pack(">hhih", key, version, correlation_id, len(name)) + name
    if is_flexible(key, version):
        header += b"\0"
    whole = header + b"".join(bytes(part) for part in request_encoder(key, version)(request))
    return struct.pack(">i", len(whole)) + whole


def latest(request: Any) -> int:
    return registered()[request.API_KEY].last_advertised_version


@define(eq=False)
class Client:
    """One connection; answers are matched with requests in the order they were sent."""

    stream: trio.SocketStream
    client_id: str = "test"
    _buffer: bytearray = field(factory=bytearray)
    _next_correlation_id: int = 1
    _unanswered: deque[tuple[int, int, int]] = field(factory=deque)

    async def ask(self, request: Any, version: int | None = None) -> Any:
        await self.send(request, version)
        return await self.receive()

    async def send(self, request: Any, version: int | None = None, *, answered: bool = True) -> None:
        await self.send_bytes(self.prepare(request, version, answered=answered))

    def prepare(self, request: Any, version: int | None = None, *, answered: bool = True) -> bytes:
        """The frame alone, for who sends several in one piece; its answer is expected."""
        version = latest(request) if version is None else version
        correlation_id = self._next_correlation_id
        self._next_correlation_id += 1
        if answered:
            self._unanswered.append((correlation_id, request.API_KEY, version))
        return frame(request, version, correlation_id, self.client_id)

    async def send_bytes(self, data: bytes) -> None:
        with trio.fail_after(PATIENCE_S):
            await self.stream.send_all(data)

    async def receive(self) -> Any:
        """The answer to the oldest request that has none."""
        correlation_id, key, version = self._unanswered.popleft()
        answer = await self.receive_frame()
        assert struct.unpack_from(">i", answer)[0] == correlation_id, "answers come in the order of requests"
        has_tags = is_flexible(key, version) and key != API_VERSIONS_KEY
        return response_decoder(key, version)(memoryview(answer), 5 if has_tags else 4)

    async def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", await self._exactly(4))
        return await self._exactly(size)

    async def _exactly(self, size: int) -> bytes:
        with trio.fail_after(PATIENCE_S):
            while len(self._buffer) < size:
                try:
                    piece = await self.stream.receive_some(256 * 1024)
                except trio.BrokenResourceError:
                    piece = b""
                if not piece:
                    raise Closed
                self._buffer += piece
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    async def wait_closed(self) -> None:
        """Returns when the broker has ended the connection; fails if it says something instead."""
        try:
            said = await self._exactly(1)
        except Closed:
            return
        raise AssertionError(f"an answer instead of an end: {said!r}")


@define(eq=False)
class Door:
    """A running broker and its clients."""

    broker: Broker
    _clients: list[Client] = field(factory=list)

    async def connect(self, *, receive_buffer_bytes: int | None = None) -> Client:
        sock = trio.socket.socket()
        if receive_buffer_bytes is not None:
            sock.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, receive_buffer_bytes)
        host, port = self.broker.kafka_address.rsplit(":", 1)
        await sock.connect((host, int(port)))
        client = Client(trio.SocketStream(sock))
        self._clients.append(client)
        return client

    async def close_clients(self) -> None:
        with trio.CancelScope(shield=True):
            for client in self._clients:
                await client.stream.aclose()


def config(data_dir: Path, settings: dict[str, object] | None = None) -> BrokerConfig:
    """A free port on loopback, data in `data_dir`."""
    address = {"listeners": "PLAINTEXT://127.0.0.1:0", "http.port": 0}
    values = {**address, "log.dirs": str(data_dir), **(settings or {})}
    return BrokerConfig.load(values=values)


@asynccontextmanager
async def open_door(data_dir: Path, settings: dict[str, object] | None = None) -> AsyncIterator[Door]:
    """Run a broker for the length of the block."""
    async with Broker(config(data_dir, settings)) as broker:
        door = Door(broker)
        try:
            yield door
        finally:
            await door.close_clients()


async def until(condition: Any, patience_s: float = PATIENCE_S) -> None:
    """Returns once the condition holds; fails if that takes too long."""
    with trio.fail_after(patience_s):
        while not condition():  # noqa: ASYNC110
            await trio.sleep(0.002)
