"""A broker in this process and a caller of its operations door, for the tests of that door."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import trio
from attrs import define, frozen

from tests.wire.kafka.door import Client, Door, open_door
from tidegate.broker import Broker

PATIENCE_S = 20.0


@frozen
class Answer:
    """What came back; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@define(eq=False)
class Caller:
    """One connection to the door."""

    stream: trio.SocketStream

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """Send a request and take its answer; the connection ends with it."""
        protocol = h11.Connection(h11.CLIENT)
        sent = {"host": "localhost", "connection": "close", **(headers or {})}
        if body:
            sent["content-length"] = str(len(body))
        data = protocol.send(h11.Request(method=method, target=target, headers=list(sent.items()))) or b""
        if body:
            data += protocol.send(h11.Data(data=body)) or b""
        data += protocol.send(h11.EndOfMessage()) or b""
        with trio.fail_after(PATIENCE_S):
            await self.stream.send_all(data)
            return await self._answer(protocol)

    async def _answer(self, protocol: h11.Connection) -> Answer:
        response: h11.Response | None = None
        body = bytearray()
        while True:
            event = protocol.next_event()
            if event is h11.NEED_DATA:
                protocol.receive_data(await self.stream.receive_some(65536))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert response is not None
                headers = {name.decode(): value.decode() for name, value in response.headers}
                return Answer(response.status_code, headers, bytes(body))

    async def exchange(self, data: bytes) -> bytes:
        """Send bytes as they are and take all that comes until the end."""
        with trio.fail_after(PATIENCE_S):
            await self.stream.send_all(data)
            return await self.rest()

    async def rest(self) -> bytes:
        received = bytearray()
        with trio.fail_after(PATIENCE_S):
            while piece := await self.stream.receive_some(65536):
                received += piece
        return bytes(received)


@define(eq=False)
class HttpDoor:
    """A running broker with both of its doors."""

    kafka: Door

    @property
    def broker(self) -> Broker:
        return self.kafka.broker

    @property
    def port(self) -> int:
        assert self.broker.http_address is not None
        return int(self.broker.http_address.rsplit(":", 1)[1])

    async def connect(self) -> Client:
        """A client of the Kafka door."""
        return await self.kafka.connect()

    async def caller(self) -> Caller:
        return Caller(await trio.open_tcp_stream("127.0.0.1", self.port))

    async def ask(self, method: str, target: str, headers: Mapping[str, str] | None = None, body: Any = None) -> Answer:
        """One request over a connection of its own; a body that is not bytes is sent as JSON."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("content-type", "application/json")
        async with (await self.caller()).stream as stream:
            return await Caller(stream).ask(method, target, sent, body or b"")

    async def get(self, target: str, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON at `target`, which must be there."""
        answer = await self.ask("GET", target, headers)
        assert answer.status == 200, answer
        return answer.json()


@asynccontextmanager
async def open_http_door(data_dir: Path, settings: dict[str, object] | None = None) -> AsyncIterator[HttpDoor]:
    """Run a broker with its operations door for the length of the block."""
    async with open_door(data_dir, {"http.port": -1, **(settings or {})}) as door:
        yield HttpDoor(door)
