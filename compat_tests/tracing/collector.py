"""A collector for tests: takes OTLP over HTTP and keeps every span, whoever sent it."""

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@define
class CollectedSpan:
    """A span with what a backend shows of it."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[str]


@define(eq=False)
class Collector:
    """The spans so far. While `is_dead` it refuses everything."""

    port: int = 0
    is_dead: bool = False
    spans: list[CollectedSpan] = field(factory=list)
    headers: list[dict[str, str]] = field(factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/traces"

    def of_trace(self, trace_id: str) -> list[CollectedSpan]:
        """By their start."""
        return sorted((span for span in self.spans if span.trace_id == trace_id), key=lambda span: span.start_ns)

    def wait_for(self, trace_id: str, name: str, seconds: float = 20.0) -> CollectedSpan:
        deadline = time.monotonic() + seconds
        while True:
            found = [span for span in self.of_trace(trace_id) if span.name == name]
            if found:
                return found[0]
            seen = [span.name for span in self.of_trace(trace_id)]
            assert time.monotonic() < deadline, f"no span {name!r}, only {seen}"
            time.sleep(0.02)

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for resource_spans in request.resource_spans:
            service = _attributes(resource_spans.resource.attributes).get("service.name", "")
            for scope_spans in resource_spans.scope_spans:
                self.spans += [_collected(service, span) for span in scope_spans.spans]


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector on a free port, for the length of the block."""
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if not kept.is_dead:
                kept.headers.append(dict(self.headers))
                kept.take(body)
            self.send_response(400 if kept.is_dead else 200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not on the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _collected(service: str, span: Any) -> CollectedSpan:
    return CollectedSpan(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _attributes(span.attributes),
        [event.name for event in span.events],
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
