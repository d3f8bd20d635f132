"""A client of a simulated node, by our own codec. Where its connection breaks it makes a new one."""

import random
import struct
from collections.abc import Sequence
from typing import Any

import trio
from attrs import define, field

from tests.simulation.network import Network
from wire.kafka.codec import is_flexible, request_encoder, response_decoder, response_start
from wire.transport import TransportStream

LONGEST_WAY_S = 0.003


class Disconnected(Exception):
    """The node went away before it answered: whether it did what it was asked is unknown."""


@define(eq=False)
class SimulatedClient:
    """One connection at a time."""

    network: Network
    host: str
    chance: random.Random
    _stream: TransportStream | None = field(default=None, init=False)
    _correlation: int = field(default=0, init=False)

    async def ask(self, api_key: int, version: int, message: Any) -> Any:
        """The answer, or `Disconnected`."""
        (answer,) = await self.ask_all(api_key, version, [message])
        return answer

    async def ask_all(self, api_key: int, version: int, messages: Sequence[Any]) -> list[Any]:
        """The answers to requests that are sent without waiting in between, or `Disconnected`."""
        if self._stream is None:
            self._stream = await self.network.connect(self.host)
        try:
            await self._take_time()
            await self._stream.send_all(b"".join(self._frame(api_key, version, message) for message in messages))
            frames = [await self._receive() for _ in messages]
            await self._take_time()
        except (trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
            await self.close()
            raise Disconnected from None
        start = response_start(api_key, version).size - 4
        return [response_decoder(api_key, version)(frame, start) for frame in frames]

    def _frame(self, api_key: int, version: int, message: Any) -> bytes:
        self._correlation += 1
        header = struct.pack(">hhih", api_key, version, self._correlation, -1)
        tags = b"\x00" if is_flexible(api_key, version) else b""
        parts: list[Any] = request_encoder(api_key, version)(message)
        body = header + tags + b"".join(parts)
        return struct.pack(">i", len(body)) + body

    async def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await trio.aclose_forcefully(stream)

    async def _receive(self) -> bytes:
        (size,) = struct.unpack(">i", await self._exactly(4))
        return await self._exactly(size)

    async def _exactly(self, size: int) -> bytes:
        assert self._stream is not None
        received = bytearray()
        while len(received) < size:
            piece = await self._stream.receive_some(size - len(received))
            if not piece:
                raise EOFError
            received += piece
        return bytes(received)

    async def _take_time(self) -> None:
        await trio.sleep(self.chance.random() * LONGEST_WAY_S)
