"""A connection of the door over a pair of sockets, and a client by h2 at the other end."""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import h2.config
import h2.connection
import h2.events
import trio
from attrs import define, field

from engine.clock import SystemClock
from engine.workers import InlineWorkers
from tests.wire.grpc.peer import CALL
from wire.grpc.callers import GrpcReception
from wire.grpc.config import GrpcLimits, GrpcTimes
from wire.grpc.connection import DoorFigures, GrpcConnection
from wire.grpc.door import GrpcDoor
from wire.grpc.framing import framed
from wire.grpc.methods import GrpcMethod
from wire.http.callers import LOCAL, Reception
from wire.http.config import Access
from wire.http.life import Life, Phase
from wire.transport import SocketTransport

PATIENCE_S = 10.0


@define(eq=False)
class Caller:
    """A client; it reads only when a test has it read."""

    stream: trio.SocketStream
    connection: GrpcConnection
    figures: DoorFigures
    door: GrpcDoor
    http2: h2.connection.H2Connection = field(
        factory=lambda: h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    )
    heard: list[h2.events.Event] = field(factory=list)
    has_ended: bool = False

    async def say(self) -> None:
        """Send what h2 has to send."""
        await self.stream.send_all(self.http2.data_to_send())

    async def call(self, path: str, message: bytes | None = b"", *, ends: bool = True, **headers: str) -> int:
        """Begin a call."""
        stream_id = self.http2.get_next_available_stream_id()
        others = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        head = (*((name, path if name == ":path" else value) for name, value in CALL), *others)
        self.http2.send_headers(stream_id, head, end_stream=ends and message is None)
        if message is not None:
            self.http2.send_data(stream_id, framed(message), end_stream=ends)
        await self.say()
        return stream_id

    async def hear(self, kind: type[h2.events.Event], *, acknowledge: bool = True) -> Any:
        """The next event of a kind, or None at the end of the connection."""
        with trio.fail_after(PATIENCE_S):
            while True:
                for event in self.heard:
                    if isinstance(event, kind):
                        self.heard.remove(event)
                        return event
                if self.has_ended:
                    return None
                await self.receive(acknowledge=acknowledge)

    async def receive(self, *, acknowledge: bool = True) -> None:
        """Take in what has come."""
        try:
            data = await self.stream.receive_some(65_536)
        except trio.BrokenResourceError:
            data = b""
        if not data:
            self.has_ended = True
            return
        for event in self.http2.receive_data(data):
            if acknowledge and isinstance(event, h2.events.DataReceived):
                self.http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.heard.append(event)
        if out := self.http2.data_to_send():
            await self.stream.send_all(out)

    async def end(self) -> dict[str, str]:
        """How the next call ended."""
        while True:
            event = await self.hear(h2.events.Event)
            if event is None:
                raise AssertionError("the connection has ended")
            if isinstance(event, h2.events.TrailersReceived | h2.events.ResponseReceived):
                found = dict(event.headers)
                if "grpc-status" in found:
                    return found


@asynccontextmanager
async def calling(
    methods: Mapping[str, GrpcMethod],
    limits: GrpcLimits | None = None,
    times: GrpcTimes | None = None,
    access: Access | None = None,
    *,
    speaks: bool = True,
) -> AsyncIterator[Caller]:
    """A client of a door that has these methods."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    life = Life(SystemClock(), lambda: "0", (), lambda: 0)
    life.phase = Phase.READY
    figures = DoorFigures(limits or GrpcLimits(), times or GrpcTimes())
    reception = GrpcReception(Reception(access or Access(), delay_s=0.0))
    door = GrpcDoor(methods, reception, life, figures, InlineWorkers())
    connection = door.connection(SocketTransport(ours, ("127.0.0.1", 1)), LOCAL)
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(theirs))
    caller = Caller(stream, connection, figures, door)
    caller.http2.initiate_connection()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        async with stream:
            if speaks:
                await caller.say()
                await caller.receive()
            yield caller
        nursery.cancel_scope.cancel()
