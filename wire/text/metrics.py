"""Figures of the text door."""

from collections.abc import Iterator

from engine.metrics import Family
from wire.text.server import TextServer

ENDS = ("quit", "gone", "idle", "slow", "malformed", "unauthenticated", "no TLS", "failed")


class TextMetrics:
    """A collector over one server."""

    def __init__(self, server: TextServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Family]:
        """Everything about the door."""
        server, counts = self._server, self._server.counts
        statistics, ended = server.statistics(), server.ended
        yield Family.gauge(
            "tidegate_text_connections", "Connections to the text door.", [({}, statistics["connections"])]
        )
        yield Family.counter(
            "tidegate_text_commands_total",
            "Commands of the text door that were carried out or refused by the broker, by name.",
            [({"command": name}, count) for name, count in counts.commands.items()],
        )
        yield Family.counter(
            "tidegate_text_connections_closed_total",
            "Connections to the text door that have ended, by reason: quit, gone (the client closed it), idle, slow "
            "(takes no answers), malformed (nobody knows where the next command begins), unauthenticated, no TLS, "
            "failed (a bug).",
            [({"reason": reason}, ended.get(reason, 0)) for reason in ENDS],
        )
        for name, meaning, value in (
            ("tidegate_text_malformed_total", "Lines of the text door that were no commands.", counts.refused),
            ("tidegate_text_logins_refused_total", "Logins to the text door that were wrong.", server.logins.refused),
            (
                "tidegate_text_connections_refused_total",
                "Connections to the text door refused by text.max.connections.",
                statistics["refused"],
            ),
            ("tidegate_text_received_bytes_total", "Bytes that came by the text door.", counts.received_bytes),
            ("tidegate_text_sent_bytes_total", "Bytes that the text door sent.", counts.sent_bytes),
        ):
            yield Family.counter(name, meaning, [({}, value)])
