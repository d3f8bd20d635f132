"""Figures of the gRPC door: connections, calls and how they ended, messages, bytes."""

from collections.abc import Iterator

from engine.metrics import Family
from wire.grpc.server import GrpcServer

ENDS = ("no TLS", "malformed", "flooding", "silent", "failed")


class GrpcMetrics:
    """A collector over one server."""

    def __init__(self, server: GrpcServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Family]:
        """Everything about the door."""
        yield from self._connections()
        yield from self._calls()
        yield from self._bytes()

    def _connections(self) -> Iterator[Family]:
        statistics = self._server.statistics()
        meaning = "Connections to the gRPC door."
        yield Family.gauge("tidegate_grpc_connections", meaning, [({}, statistics["connections"])])
        meaning = "Connections that the gRPC door accepted."
        yield Family.counter("tidegate_grpc_connections_accepted_total", meaning, [({}, statistics["accepted"])])
        meaning = "Connections that the gRPC door refused, for there were too many."
        yield Family.counter("tidegate_grpc_connections_refused_total", meaning, [({}, statistics["refused"])])
        meaning = "Passwords and tokens that callers of the gRPC door have shown and that were wrong."
        yield Family.counter("tidegate_grpc_logins_refused_total", meaning, [({}, self._server.refused_logins)])
        yield Family.counter(
            "tidegate_grpc_connections_closed_total",
            "Connections that the gRPC door ended, by reason: no TLS, malformed (no HTTP/2), flooding (too many frames "
            "of a kind, or too large headers), silent (no word, or no answer to a ping), failed (a bug).",
            [({"reason": reason}, self._server.ended[reason]) for reason in ENDS],
        )

    def _calls(self) -> Iterator[Family]:
        door, figures = self._server.door, self._server.figures
        if door is None or figures is None:
            return
        meaning = "Calls to the gRPC door that are under way."
        yield Family.gauge("tidegate_grpc_calls_in_progress", meaning, [({}, figures.calls_under_way)])
        yield Family.counter(
            "tidegate_grpc_calls_total",
            "Calls to the gRPC door that have ended, by method and status; CANCELLED ones were given up by clients.",
            [({"method": method, "status": status}, count) for (method, status), count in sorted(door.ended.items())],
        )
        yield Family.counter(
            "tidegate_grpc_messages_total",
            "Messages of calls to the gRPC door that have ended, by method and direction (received, sent).",
            [
                ({"method": method, "direction": direction}, count)
                for (method, direction), count in sorted(door.messages.items())
            ],
        )

    def _bytes(self) -> Iterator[Family]:
        figures = self._server.figures
        if figures is None:
            return
        meaning = "Bytes of messages that the gRPC door holds: arrived in part, or not taken yet."
        yield Family.gauge("tidegate_grpc_buffered_bytes", meaning, [({}, figures.buffered_bytes)])
        meaning = "Bytes that the gRPC door received."
        yield Family.counter("tidegate_grpc_received_bytes_total", meaning, [({}, figures.received_bytes)])
        meaning = "Bytes that the gRPC door sent."
        yield Family.counter("tidegate_grpc_sent_bytes_total", meaning, [({}, figures.sent_bytes)])
