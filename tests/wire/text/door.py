"""A broker in this process and clients of its text door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from attrs import define, field

from tests.wire.kafka.door import open_door
from tidegate.broker import Broker

PATIENCE_S = 30.0


@define(eq=False)
class TextClient:
    """One connection."""

    stream: trio.SocketStream
    _buffer: bytearray = field(factory=bytearray)

    async def say(self, data: bytes) -> bytes:
        """The one line that answers a command."""
        await self.stream.send_all(data)
        return await self.line()

    async def line(self) -> bytes:
        """The next line, without its end."""
        while b"\r\n" not in self._buffer:
            await self._more()
        line, _, rest = bytes(self._buffer).partition(b"\r\n")
        self._buffer[:] = rest
        return line

    async def message(self) -> tuple[bytes, bytes]:
        """The line of a record that follows, and its payload."""
        line = await self.line()
        assert line.startswith(b"MSG "), line
        size = int(line.split(b" ")[2])
        while len(self._buffer) < size + 2:
            await self._more()
        payload, self._buffer = bytes(self._buffer[:size]), self._buffer[size + 2 :]
        return line, payload

    async def until_the_end(self, data: bytes) -> bytes:
        """Everything that is said until the connection ends."""
        await self.stream.send_all(data)
        with trio.fail_after(PATIENCE_S):
            while piece := await self.stream.receive_some():
                self._buffer += piece
        return bytes(self._buffer)

    async def _more(self) -> None:
        with trio.fail_after(PATIENCE_S):
            piece = await self.stream.receive_some()
        assert piece, "the connection has ended"
        self._buffer += piece


@define(eq=False)
class TextHouse:
    """A running broker."""

    broker: Broker

    @asynccontextmanager
    async def client(self) -> AsyncIterator[TextClient]:
        """One connection, for the length of the block."""
        host, port = (self.broker.text_address or "").rsplit(":", 1)
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            yield TextClient(stream)


@asynccontextmanager
async def open_text(data_dir: Path, settings: dict[str, object] | None = None) -> AsyncIterator[TextHouse]:
    """Run a broker for the length of the block."""
    async with open_door(data_dir, {"text.port": -1, **(settings or {})}) as door:
        yield TextHouse(door.broker)
