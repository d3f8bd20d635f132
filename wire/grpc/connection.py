"""One connection of a gRPC client: moves bytes between its transport and its session, and keeps the times.

One task reads, one writes, one looks at the clock; each call has a task of its own. Nothing is read while what we have
to say to the client piles up.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio
from attrs import define, field

from wire.grpc.calls import MOST_QUEUED_BYTES, CallState
from wire.grpc.config import GrpcLimits, GrpcTimes
from wire.grpc.framing import PREFIX_BYTES, FramedMessage, MessageBuffer
from wire.grpc.session import (
    CallGivenUp,
    CallOpened,
    ClientLeaves,
    DataArrived,
    HeaderList,
    Http2Session,
    SendingEnded,
    SessionBroken,
    SessionEvent,
)
from wire.grpc.status import GrpcError, Status
from wire.http.callers import Visitor
from wire.transport import Transport, TransportStream

logger = logging.getLogger("tidegate.grpc")

RECEIVE_BYTES = 64 * 1024
STEP_BYTES = 16 * 1024
"""So much is worked through before others have their turn: frames of nine bytes cost as much as large ones."""
TURN_S = 0.005
MOST_UNSENT_BYTES = 256 * 1024
FAREWELL_S = 1.0
CHECKS_PER_TIME = 4

ServeCall = Callable[["CallState", HeaderList, Visitor], Awaitable[None]]


@define(eq=False)
class DoorFigures:
    """What all connections of the door have in common."""

    limits: GrpcLimits
    times: GrpcTimes
    buffered_bytes: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    calls_under_way: int = 0
    calls_refused: int = 0
    stopping: trio.Event = field(factory=trio.Event)


class GrpcConnection:
    """A client, from its first byte to its last. `run` raises `SessionBroken` where the client is at fault."""

    def __init__(self, transport: Transport, visitor: Visitor, figures: DoorFigures, serve: ServeCall) -> None:
        self._transport = transport
        self._stream = TransportStream(transport)
        self._visitor = visitor
        self._figures = figures
        self._serve = serve
        self._limits, self._times = figures.limits, figures.times
        self.session = Http2Session(figures.limits, trio.current_time)
        self._calls: dict[int, CallState] = {}
        self._wake = trio.Event()
        self._sent = trio.Event()
        self._idle_since = self._heard = trio.current_time()
        self._spoken = trio.Event()
        self._broken: SessionBroken | None = None
        self._nursery: trio.Nursery | None = None
        self.is_known = visitor.principal is not None
        """Whether somebody has called by it who has shown who it is, or need not."""

    async def run(self) -> None:
        """Serve until either side ends it."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._write)
                nursery.start_soon(self._keep_times)
                try:
                    await self._read()
                except SessionBroken as error:
                    self._broken = error
                    await self._part()
                nursery.cancel_scope.cancel()
        except* (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client is gone
        finally:
            self._nursery = None
            for call in list(self._calls.values()):
                self._forget(call)
            self._transport.close()
        if self._broken is not None:
            raise self._broken

    def leave(self, why: str) -> None:
        """Tell the client that no more calls are taken; those that are there may end."""
        self.session.go_away(why)
        self.wake()

    @property
    def call_count(self) -> int:
        """Calls that are under way."""
        return len(self._calls)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._calls and not self.session.call_count

    async def _part(self) -> None:
        """Let the client have what was said last: closing at once, with something unread, would take it away."""
        for call in self._calls.values():
            call.scope.cancel()
        with trio.move_on_after(FAREWELL_S):
            while self.session.unsent_bytes:
                await self._next_sent()
            with suppress(trio.BrokenResourceError):
                await self._stream.send_eof()
                while await self._stream.receive_some(RECEIVE_BYTES):
                    pass

    # -- reading

    async def _read(self) -> None:
        space = memoryview(bytearray(RECEIVE_BYTES))
        while True:
            await self._transport.readable()
            try:
                count = self._transport.receive_into(space)
            except (BlockingIOError, InterruptedError):
                continue
            if count == 0:
                return
            self._heard = trio.current_time()
            self._spoken.set()
            self._figures.received_bytes += count
            await self._take_in(space[:count])

    async def _take_in(self, data: memoryview) -> None:
        """In steps, and no further while the client does not take our answers."""
        turn_ends = trio.current_time() + TURN_S
        for position in range(0, len(data), STEP_BYTES):
            for event in self.session.receive(data[position : position + STEP_BYTES]):
                self._handle(event)
            self.wake()
            while self.session.unsent_bytes > MOST_UNSENT_BYTES:
                await self._next_sent()
            if trio.current_time() > turn_ends:
                await trio.lowlevel.checkpoint()
                turn_ends = trio.current_time() + TURN_S

    def _handle(self, event: SessionEvent) -> None:
        if isinstance(event, DataArrived):
            self._arrived(event)
        elif isinstance(event, CallOpened):
            self._open(event)
        elif isinstance(event, SendingEnded):
            if (call := self._calls.get(event.stream_id)) is not None:
                call.has_ended = True
                call.tell()
        elif isinstance(event, CallGivenUp):
            if (call := self._calls.get(event.stream_id)) is not None:
                call.scope.cancel()
        elif isinstance(event, ClientLeaves):
            raise trio.BrokenResourceError("the client has said goodbye")

    def _open(self, event: CallOpened) -> None:
        assert self._nursery is not None, "calls come while the connection runs"
        call = CallState(event.stream_id, self, MessageBuffer(self._limits.max_message_bytes))
        self._calls[event.stream_id] = call
        self._figures.calls_under_way += 1
        self._nursery.start_soon(self._run_call, call, event.headers)

    async def _run_call(self, call: CallState, headers: HeaderList) -> None:
        with call.scope:
            await self._serve(call, headers, self._visitor)
        if call.scope.cancelled_caught:
            self.session.give_up(call.stream_id)
        self._forget(call)
        self.wake()

    def _forget(self, call: CallState) -> None:
        if self._calls.pop(call.stream_id, None) is None:
            return
        self._figures.calls_under_way -= 1
        self._figures.buffered_bytes -= call.inbox.buffered_bytes
        self.session.consumed(call.stream_id, call.inbox.clear())
        self._idle_since = trio.current_time()

    def _arrived(self, event: DataArrived) -> None:
        call = self._calls.get(event.stream_id)
        if call is None or call.failure is not None:
            self.session.consumed(event.stream_id, event.size)
            return
        inbox, figures = call.inbox, self._figures
        before = inbox.buffered_bytes
        try:
            if figures.buffered_bytes + len(event.data) > self._limits.max_buffered_bytes:
                raise GrpcError(Status.RESOURCE_EXHAUSTED, "the broker holds grpc.max.buffered.bytes of other calls")
            give_back = inbox.add(event.data, event.size)
        except GrpcError as error:
            call.failure = error
            give_back = event.size
        figures.buffered_bytes += inbox.buffered_bytes - before
        self.session.consumed(event.stream_id, give_back)
        call.tell()

    def took(self, call: CallState, message: FramedMessage, owed: int) -> None:
        """A handler has taken a message: the client may send more."""
        self._figures.buffered_bytes -= len(message.payload) + PREFIX_BYTES
        if owed:
            self.session.consumed(call.stream_id, owed)
            self.wake()

    # -- writing

    def wake(self) -> None:
        """There may be something to send."""
        self._wake.set()

    async def _write(self) -> None:
        while True:
            data = self.session.take()
            if data:
                await self._stream.send_all(data)
                self._figures.sent_bytes += len(data)
                self._make_room()
                continue
            self._sent.set()
            if self.session.is_leaving and self.is_idle:
                await self._close()
                return
            self._wake = trio.Event()
            await self._wake.wait()

    async def _close(self) -> None:
        """All is said: the client closes, or we do."""
        assert self._nursery is not None, "it is written while the connection runs"
        await self._stream.send_eof()
        await trio.sleep(FAREWELL_S)
        self._nursery.cancel_scope.cancel()

    def _make_room(self) -> None:
        """Wake those who wait for what they have queued to be sent."""
        self._sent.set()
        for call in self._calls.values():
            if call.room is not None and self.session.queued(call.stream_id) <= MOST_QUEUED_BYTES:
                call.room.set()
                call.room = None

    async def _next_sent(self) -> None:
        self._sent = trio.Event()
        self.wake()
        await self._sent.wait()

    # -- times

    async def _keep_times(self) -> None:
        times = self._times
        with trio.move_on_after(times.handshake_s):
            await self._spoken.wait()
        if not self._spoken.is_set():
            self._give_up("the client says nothing: grpc.handshake.timeout.ms")
        asked_at: float | None = None
        pause_s = min(times.keepalive_s, times.keepalive_timeout_s, times.idle_s) / CHECKS_PER_TIME
        while True:
            await trio.sleep(pause_s)
            now = trio.current_time()
            if self.is_idle and now - self._idle_since > times.idle_s:
                self.leave("the connection is idle: grpc.max.idle.ms")
            if asked_at is not None and self._heard >= asked_at:
                asked_at = None
            if asked_at is None and now - self._heard > times.keepalive_s:
                self.session.ping()
                self.wake()
                asked_at = now
            elif asked_at is not None and now - asked_at > times.keepalive_timeout_s:
                self._give_up("the client answers no ping: grpc.keepalive.timeout.ms")

    def _give_up(self, why: str) -> None:
        assert self._nursery is not None, "times are kept while the connection runs"
        self._broken = SessionBroken(why, "silent")
        self._nursery.cancel_scope.cancel()
