"""Figures of the Kafka door: requests, their latencies and errors, connections, bytes."""

from collections.abc import Iterator

from coordinators.records.refused_headers import RefusedHeaders
from engine.metrics import Family
from wire.kafka.errors import told
from wire.kafka.server import KafkaServer

ENDS = ("idle", "malformed", "unauthenticated", "limited", "expired", "failed")


class KafkaMetrics:
    """A collector over one server."""

    def __init__(self, server: KafkaServer, refused_headers: RefusedHeaders) -> None:
        self._server = server
        self._refused_headers = refused_headers
        self._names = {key: api_name(api.name) for key, api in server.apis.items()}

    def collect(self) -> Iterator[Family]:
        """Everything about the door."""
        yield from self._requests()
        yield from self._refusals()
        yield from self._connections()

    def _requests(self) -> Iterator[Family]:
        server, names = self._server, self._names
        yield Family.counter(
            "tidegate_requests_total",
            "Requests that arrived, by API.",
            [({"api": names[key]}, count) for key, count in sorted(server.requests.items())],
        )
        yield Family.histogram(
            "tidegate_request_duration_seconds",
            "From when a request was decoded to when its answer was handed out, waiting included, by API.",
            (({"api": names[key]}, server.latencies[key]) for key in sorted(server.requests)),
        )
        yield Family.counter(
            "tidegate_errors_total",
            "Errors told to clients, by Kafka's names; a request may be told several.",
            [({"error": code.name}, count) for code, count in sorted(told.items())],
        )

    def _refusals(self) -> Iterator[Family]:
        counts = self._refused_headers.counts
        yield Family.counter(
            "tidegate_refused_headers_total",
            "Batches refused for their tide- headers, by topic and reason: unknown header, malformed value, given "
            "twice, excluded (by another header), no key, too far (beyond delay.max.ms), compacted topic.",
            [({"topic": topic, "reason": fault}, count) for (topic, fault), count in sorted(counts.items())],
        )

    def _connections(self) -> Iterator[Family]:
        server = self._server
        statistics = server.statistics()
        unanswered, unsent, buffered = server.under_way()
        for name, meaning, value in (
            ("tidegate_connections", "Connections of Kafka clients.", statistics["connections"]),
            ("tidegate_requests_in_progress", "Requests that have not been answered.", unanswered),
            ("tidegate_responses_unsent_bytes", "Bytes of answers that are ready and not sent.", unsent),
            ("tidegate_requests_buffered_bytes", "Bytes of requests that have not arrived whole.", buffered),
        ):
            yield Family.gauge(name, meaning, [({}, value)])
        for name, meaning, value in (
            ("tidegate_connections_accepted_total", "Connections accepted.", statistics["accepted"]),
            ("tidegate_connections_refused_total", "Connections refused by a limit.", statistics["refused"]),
            ("tidegate_network_received_bytes_total", "Bytes of requests.", server.received_bytes),
            ("tidegate_network_sent_bytes_total", "Bytes of answers.", server.sent_bytes),
        ):
            yield Family.counter(name, meaning, [({}, value)])
        yield Family.counter(
            "tidegate_connections_closed_total",
            "Connections that the broker ended, by reason: idle, malformed (what came was no request, or one whose "
            "answer would be too large), unauthenticated (nobody who may come in, or nothing that may be said before), "
            "limited (its principal has enough, max.connections.per.principal), "
            "expired (its login has ended), failed (a bug).",
            [({"reason": reason}, server.ended[reason]) for reason in ENDS],
        )
        yield Family.counter(
            "tidegate_logins_total",
            "Logins by listener, mechanism and outcome (success, failure); each is one exchange.",
            [
                ({"listener": entrance.name, "mechanism": mechanism, "outcome": outcome}, count)
                for entrance in server.entrances
                if entrance.login is not None
                for (mechanism, outcome), count in sorted(entrance.login.outcomes.items())
            ],
        )


def api_name(module: str) -> str:
    """`list_offsets` -> `ListOffsets`, Kafka's name of the API."""
    return "".join(word.capitalize() for word in module.split("_"))
