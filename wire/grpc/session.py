"""HTTP/2 without I/O, as gRPC uses it: bytes in, events out; headers, data and trailers in, bytes out.

h2 holds the protocol. The rules that are ours:
1. What a call sends is handed to h2 only when its bytes are asked for (`take`), as far as the windows of the client
   allow and never much at a time: so what is unsent lies with its call, where it holds that one back and no other.
2. Bytes that arrive are owed back to the client's windows until whoever they are for says `consumed`, also if they are
   for nobody any more.
3. Calls beyond the bound, and those that come after we have said that we go, are refused so that they can be tried
   again elsewhere (REFUSED_STREAM).
4. Frames are counted before h2 works on them (`frame_meter.py`).
5. After `go_away` calls that are there go on; after an error nothing does.
"""

from collections.abc import Callable, Iterator, Sequence

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from attrs import define, field, frozen
from hyperframe.frame import GoAwayFrame

from wire.grpc.config import GrpcLimits
from wire.grpc.frame_meter import FrameMeter, TooManyFrames

HeaderList = Sequence[tuple[bytes, bytes]]

STREAM_WINDOW_BYTES = 512 * 1024
CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024
MOST_FRAME_BYTES = 256 * 1024
"""A larger frame is fewer steps in Python for the same bytes."""
SENT_FRAME_BYTES = 64 * 1024
TAKE_BYTES = 256 * 1024
FIRST_WINDOW_BYTES = 65_535
LAST_STREAM = 2**31 - 1


@frozen
class CallOpened:
    """A client calls."""

    stream_id: int
    headers: HeaderList


@frozen
class DataArrived:
    """Bytes of a call; `size` of them are owed to the client's windows."""

    stream_id: int
    data: bytes
    size: int


@frozen
class SendingEnded:
    """The client sends no more in this call."""

    stream_id: int


@frozen
class CallGivenUp:
    """The client wants no answer any more, or has done what it must not."""

    stream_id: int


@frozen
class ClientLeaves:
    """The client makes no more calls."""


SessionEvent = CallOpened | DataArrived | SendingEnded | CallGivenUp | ClientLeaves


class SessionBroken(Exception):
    """Nothing more can be received; what is left to be sent says so to the client. `reason` is for figures."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@define(eq=False)
class _Outgoing:
    """What a call has to send."""

    data: bytearray = field(factory=bytearray)
    trailers: HeaderList | None = None
    remote_ended: bool = False


class Http2Session:
    """One connection, as its server."""

    def __init__(self, limits: GrpcLimits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._meter = FrameMeter(limits.resets_per_s, limits.control_frames_per_s, limits.max_header_bytes, now)
        self._h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(
                client_side=False,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self._calls: dict[int, _Outgoing] = {}
        self._out = bytearray()
        self._newest = 0
        self.is_leaving = False
        """Whether the client was told that we take no more calls."""
        self.refused_calls = 0
        self._begin()

    def _begin(self) -> None:
        codes, protocol = h2.settings.SettingCodes, self._h2
        protocol.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                codes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
                codes.MAX_FRAME_SIZE: MOST_FRAME_BYTES,
                codes.MAX_HEADER_LIST_SIZE: self._limits.max_header_bytes,
            },
        )
        protocol.max_inbound_frame_size = MOST_FRAME_BYTES
        protocol.decoder.max_header_list_size = self._limits.max_header_bytes
        protocol.initiate_connection()
        # Apart from the others: those are in force at once. A client that has not read this yet is refused call by
        # call (rule 3); one that has acknowledged it must keep to it.
        protocol.update_settings({codes.MAX_CONCURRENT_STREAMS: self._limits.max_streams})
        protocol.increment_flow_control_window(CONNECTION_WINDOW_BYTES - FIRST_WINDOW_BYTES)
        self._move()

    # -- receiving

    def receive(self, data: memoryview) -> Iterator[SessionEvent]:
        """What has arrived, as events; `SessionBroken` at the end of them if it cannot go on."""
        try:
            self._meter.count(data)
            events = self._h2.receive_data(bytes(data))
        except TooManyFrames as error:
            self._end(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM, str(error))
            raise SessionBroken(str(error), "flooding") from None
        except h2.exceptions.DenialOfServiceError as error:
            self._move()
            raise SessionBroken(f"the metadata is too large: {error}", "flooding") from None
        except h2.exceptions.ProtocolError as error:
            self._move()
            raise SessionBroken(f"{type(error).__name__}: {error}", "malformed") from None
        finally:
            self._move()
        for event in events:
            yield from self._translated(event)
        self._move()

    def _translated(self, event: h2.events.Event) -> Iterator[SessionEvent]:
        if isinstance(event, h2.events.DataReceived):
            if event.stream_id in self._calls:
                yield DataArrived(event.stream_id, event.data, event.flow_controlled_length)
            else:
                self.consumed(event.stream_id, event.flow_controlled_length)
        elif isinstance(event, h2.events.RequestReceived):
            if self._takes(event.stream_id):
                self._calls[event.stream_id] = _Outgoing()
                yield CallOpened(event.stream_id, event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            if (call := self._calls.get(event.stream_id)) is not None:
                call.remote_ended = True
                yield SendingEnded(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            if self._calls.pop(event.stream_id, None) is not None:
                yield CallGivenUp(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.is_leaving = True
            yield ClientLeaves()

    def _takes(self, stream_id: int) -> bool:
        if len(self._calls) < self._limits.max_streams and not self.is_leaving:
            self._newest = max(self._newest, stream_id)
            return True
        self.refused_calls += 1
        self._reset(stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
        return False

    def consumed(self, stream_id: int, size: int) -> None:
        """Give bytes back to the client's windows."""
        if size and not self._is_broken():
            self._h2.acknowledge_received_data(size, stream_id)
            self._move()

    # -- sending

    def send_headers(self, stream_id: int, headers: HeaderList, *, ends: bool = False) -> None:
        """The first headers of an answer, or all of it."""
        call = self._calls.get(stream_id)
        if call is None or self._is_broken():
            return
        self._h2.send_headers(stream_id, headers, end_stream=ends)
        self._move()
        if ends:
            self._ended(stream_id, call)

    def send_data(self, stream_id: int, data: bytes) -> None:
        """Bytes of an answer, to be sent when they are asked for."""
        if (call := self._calls.get(stream_id)) is not None:
            call.data += data

    def finish(self, stream_id: int, trailers: HeaderList) -> None:
        """The end of an answer, after all that was sent before; without trailers where there are none to send."""
        if (call := self._calls.get(stream_id)) is not None:
            call.trailers = trailers

    def give_up(self, stream_id: int) -> None:
        """End a call at once, whatever of it is unsent."""
        if self._calls.pop(stream_id, None) is not None:
            self._reset(stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)

    def queued(self, stream_id: int) -> int:
        """How many bytes of a call wait to be sent."""
        call = self._calls.get(stream_id)
        return 0 if call is None else len(call.data)

    @property
    def unsent_bytes(self) -> int:
        """Of what was handed to h2."""
        return len(self._out)

    @property
    def call_count(self) -> int:
        """Calls whose answers have not been handed out whole."""
        return len(self._calls)

    def take(self) -> bytes:
        """What is to be sent now (rule 1); nothing if there is nothing, or the windows are shut."""
        if not self._is_broken():
            room = TAKE_BYTES
            for stream_id, call in list(self._calls.items()):
                room -= self._hand_over(stream_id, call, room)
                if room <= 0:
                    if stream_id in self._calls:  # the others come first next time
                        self._calls[stream_id] = self._calls.pop(stream_id)
                    break
        data = bytes(self._out)
        self._out.clear()
        return data

    def _hand_over(self, stream_id: int, call: _Outgoing, room: int) -> int:
        given = 0
        while call.data and given < room:
            most = min(self._h2.max_outbound_frame_size, SENT_FRAME_BYTES, room - given)
            size = min(len(call.data), self._h2.local_flow_control_window(stream_id), most)
            if size <= 0:
                break
            self._h2.send_data(stream_id, bytes(call.data[:size]))
            self._meter.sent_frame()
            del call.data[:size]
            given += size
        if call.trailers is not None and not call.data:
            if call.trailers:
                self._h2.send_headers(stream_id, call.trailers, end_stream=True)
            else:
                self._h2.end_stream(stream_id)
            self._ended(stream_id, call)
        self._move()
        return given

    def _ended(self, stream_id: int, call: _Outgoing) -> None:
        """The answer is complete. Whoever still sends is told not to: nobody reads it."""
        del self._calls[stream_id]
        if not call.remote_ended:
            self._reset(stream_id, h2.errors.ErrorCodes.NO_ERROR)

    def _reset(self, stream_id: int, code: h2.errors.ErrorCodes) -> None:
        try:
            self._h2.reset_stream(stream_id, code)
        except h2.exceptions.ProtocolError:
            return  # it is gone already
        self._move()

    # -- the connection as a whole

    def ping(self) -> None:
        """Ask the client whether it is there."""
        if not self._is_broken():
            self._h2.ping(b"tidegate")
            self._move()

    def go_away(self, why: str) -> None:
        """Take no more calls, and finish those that are there (rule 5)."""
        if not self.is_leaving and not self._is_broken():
            self.is_leaving = True
            # h2's own way would let nothing be sent after it.
            frame = GoAwayFrame(0, last_stream_id=self._newest, error_code=0, additional_data=why.encode())
            self._out += frame.serialize()

    def _end(self, code: h2.errors.ErrorCodes, why: str) -> None:
        self._out.clear()
        self._h2.close_connection(code, why.encode(), self._newest)
        self._move()

    def _is_broken(self) -> bool:
        return self._h2.state_machine.state is h2.connection.ConnectionState.CLOSED

    def _move(self) -> None:
        self._out += self._h2.data_to_send()
