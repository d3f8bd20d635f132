"""The exporters of the OpenTelemetry SDK. Import this module late: the SDK is optional, and takes time and memory."""

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from coordinators.tracing import spans as ours
from coordinators.tracing.settings import ExporterSettings

_KINDS = {ours.SpanKind.INTERNAL: SpanKind.INTERNAL, ours.SpanKind.SERVER: SpanKind.SERVER}
_SCOPE = InstrumentationScope(ours.SCOPE, schema_url=ours.SCHEMA_URL)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class _Sender(Protocol):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """As in the SDK."""

    def shutdown(self) -> None:
        """As in the SDK."""


class OtelExporter:
    """One of the SDK's exporters as ours."""

    def __init__(self, sender: _Sender, resource: Mapping[str, str]) -> None:
        self._sender = sender
        self._resource = Resource(dict(resource))

    def export(self, spans: Sequence[ours.Span]) -> bool:
        """Send them; the SDK's exporter tries again for as long as its timeout allows."""
        made = [readable(span, self._resource) for span in spans]
        return self._sender.export(made) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Interrupts a retry that is under way."""
        self._sender.shutdown()


def make(name: str, settings: ExporterSettings, resource: Mapping[str, str]) -> OtelExporter:
    """The exporter of that name."""
    return OtelExporter(_sender(name, settings), resource)


def _sender(name: str, settings: ExporterSettings) -> SpanExporter:
    if name == "console":
        # Standard output is for the line that says the broker is ready.
        return ConsoleSpanExporter(out=sys.stderr)
    headers, timeout_s = dict(settings.headers), settings.timeout_ms / 1000
    if name == "otlp-http":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

        return HttpExporter(endpoint=settings.http_endpoint, headers=headers, timeout=timeout_s)
    assert name == "otlp-grpc", f"no exporter is called {name}"
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

    insecure = settings.grpc_endpoint.startswith("http://")
    return GrpcExporter(
        endpoint=settings.grpc_endpoint, insecure=insecure, headers=tuple(headers.items()), timeout=timeout_s
    )


def readable(span: ours.Span, resource: Resource) -> ReadableSpan:
    """A span of ours as the SDK's exporters take it."""
    state = TraceState.from_header([span.state]) if span.state else TraceState()
    trace_id = int(span.trace_id, 16)
    parent = None
    if span.parent_id is not None:
        parent = SpanContext(trace_id, int(span.parent_id, 16), is_remote=True, trace_flags=_SAMPLED, trace_state=state)
    return ReadableSpan(
        name=span.name,
        context=SpanContext(trace_id, int(span.span_id, 16), is_remote=False, trace_flags=_SAMPLED, trace_state=state),
        parent=parent,
        resource=resource,
        attributes=dict(span.attributes),
        events=[Event(each.kind.value, ours.event_attributes(each), each.time_us * 1000) for each in span.events],
        kind=_KINDS[span.kind],
        status=Status() if span.error is None else Status(StatusCode.ERROR, span.error),
        start_time=span.start_us * 1000,
        end_time=span.end_us * 1000,
        instrumentation_scope=_SCOPE,
    )
