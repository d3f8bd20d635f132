"""A call as its handler sees it: messages come, messages go, both wait for the slower side."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import trio
from attrs import define, field
from google.protobuf.message import DecodeError, Message

from coordinators.access.callers import Caller
from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.grpc.framing import FramedMessage, MessageBuffer, entries, framed, unpacked
from wire.grpc.headers import RESPONSE, CallHead
from wire.grpc.status import GrpcError, Status

if TYPE_CHECKING:
    from wire.grpc.connection import GrpcConnection

LARGE_BYTES = 64 * 1024
"""A packed message of this size is unpacked in a thread."""
SMALL_ENTRY_BYTES = 20
"""A message is looked at before it is read where its entries would have to be smaller, to be too many for a moment."""
MOST_QUEUED_BYTES = 256 * 1024
"""Who has so much unsent waits before it sends more."""

Request = TypeVar("Request", bound=Message)


@define(eq=False)
class CallState:
    """What a connection knows of a call that is under way."""

    stream_id: int
    connection: "GrpcConnection"
    inbox: MessageBuffer
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    news: trio.Event = field(factory=trio.Event)
    """Set when something has arrived, or the end."""
    room: trio.Event | None = None
    """Set when what was queued has been sent, if somebody waits for that."""
    has_ended: bool = False
    """Whether the client sends no more."""
    failure: GrpcError | None = None
    """Why what the client sends cannot be taken."""
    has_begun: bool = False
    """Whether the first headers have been sent."""

    def tell(self) -> None:
        """Wake whoever waits for what the client sends."""
        self.news.set()


@define(eq=False)
class GrpcCall(Generic[Request]):
    """One call. `caller` is whose it is; what it may do is asked by who does it."""

    head: CallHead
    caller: Caller
    stopping: trio.Event
    """Set when the broker is about to stop: what would go on for ever ends itself."""
    _state: CallState
    _kind: type[Request]
    _workers: Workers
    _most_entries: int
    received: int = 0
    sent: int = 0

    @property
    def client_id(self) -> str | None:
        """What the client calls itself, for quotas and logs."""
        return self.head.metadata.get("tidegate-client-id")

    async def receive(self) -> Request | None:
        """The next message; None when the client sends no more. `GrpcError` for what cannot be read."""
        state = self._state
        while not state.inbox:
            if state.failure is not None:
                raise state.failure
            if state.has_ended:
                if state.inbox.is_torn:
                    raise GrpcError(Status.INTERNAL, "the last message has no end")
                return None
            state.news = trio.Event()
            await state.news.wait()
        message, owed = state.inbox.take()
        state.connection.took(state, message, owed)
        self.received += 1
        return await self._decoded(message)

    async def receive_ready(self) -> Request | None:
        """The next message if it has arrived whole, None if nothing has."""
        return await self.receive() if self._state.inbox else None

    async def _decoded(self, message: FramedMessage) -> Request:
        data = message.payload
        if message.is_compressed:
            arguments = (data, self.head.encoding, self._state.inbox.max_message_bytes)
            is_large = len(data) > LARGE_BYTES
            data = await in_worker(self._workers, unpacked, *arguments) if is_large else unpacked(*arguments)
        most = self._most_entries
        if len(data) > SMALL_ENTRY_BYTES * most and entries(data, most) > most:
            raise GrpcError(Status.INVALID_ARGUMENT, "a message has more entries than grpc.max.message.records")
        try:
            return self._kind.FromString(data)
        except DecodeError as error:
            name = self._kind.DESCRIPTOR.full_name
            raise GrpcError(Status.INTERNAL, f"a message is no {name}: {error}") from None

    async def only(self) -> Request:
        """The one message of a call that has no more."""
        request = await self.receive()
        if request is None:
            raise GrpcError(Status.UNIMPLEMENTED, "the call has no message, and needs one")
        if await self.receive() is not None:
            raise GrpcError(Status.UNIMPLEMENTED, "the call has more than one message")
        return request

    async def send(self, response: Any) -> None:
        """Send a message; it waits while the client does not take what was sent before."""
        state, connection = self._state, self._state.connection
        if not state.has_begun:
            state.has_begun = True
            connection.session.send_headers(state.stream_id, RESPONSE)
        connection.session.send_data(state.stream_id, framed(response.SerializeToString()))
        self.sent += 1
        connection.wake()
        while connection.session.queued(state.stream_id) > MOST_QUEUED_BYTES:
            if state.room is None:
                state.room = trio.Event()
            await state.room.wait()
