"""A client without I/O, by h2 itself: says what a test has it say, and understands the answers."""

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from wire.grpc.config import GrpcLimits
from wire.grpc.framing import framed
from wire.grpc.session import Http2Session, SessionEvent

CALL = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/tidegate.v1.Produce/Send"),
    (":authority", "broker"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
)


class FakeTime:
    """Passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Peer:
    """A client and the session that it talks to."""

    def __init__(self, limits: GrpcLimits | None = None) -> None:
        self.time = FakeTime()
        self.session = Http2Session(limits or GrpcLimits(), self.time)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.heard: list[h2.events.Event] = []

    def exchange(self) -> list[SessionEvent]:
        """Carry bytes both ways until nobody has anything to say; what the session has made of them."""
        events: list[SessionEvent] = []
        for _ in range(1000):
            sent, answered = self.h2.data_to_send(), self.session.take()
            if not sent and not answered:
                return events
            if sent:
                events += self.session.receive(memoryview(sent))
            if answered:
                self.heard += self.h2.receive_data(answered)
        raise AssertionError("they never stop talking")

    def call(self, *, ends: bool = False, message: bytes | None = None) -> int:
        """Begin a call."""
        stream_id = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream_id, CALL, end_stream=ends and message is None)
        if message is not None:
            self.h2.send_data(stream_id, framed(message), end_stream=ends)
        return stream_id

    def told(self, kind: type[h2.events.Event]) -> list[h2.events.Event]:
        """What the client has heard, of one kind."""
        return [event for event in self.heard if isinstance(event, kind)]
