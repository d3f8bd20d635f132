"""Spans as the OpenTelemetry SDK takes them."""

from collections.abc import Sequence

from attrs import evolve
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.trace import SpanKind, StatusCode

from coordinators.tracing.otel import OtelExporter, readable
from tests.coordinators.tracing.test_export import span
from tests.engine.trace.traces import NOON_US, PARENT_ID, TRACE_ID


class Sender:
    def __init__(self, result: SpanExportResult) -> None:
        self.result = result
        self.sent: list[ReadableSpan] = []
        self.is_shut_down = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.sent += spans
        return self.result

    def shutdown(self) -> None:
        self.is_shut_down = True


def test_a_span() -> None:
    made = readable(evolve(span(), state="vendor=1"), Resource({"service.name": "tidegate"}))
    assert made.context is not None
    assert made.parent is not None
    assert (made.context.trace_id, made.parent.span_id) == (int(TRACE_ID, 16), int(PARENT_ID, 16))
    assert made.parent.is_remote
    assert made.context.trace_state.get("vendor") == "1"
    assert (made.start_time, made.end_time) == (NOON_US * 1000, (NOON_US + 5) * 1000)
    assert made.kind is SpanKind.SERVER
    assert [event.name for event in made.events] == ["publish.received", "publish.persisted"]
    assert made.status.status_code is StatusCode.UNSET
    assert readable(evolve(span(), error="gone"), Resource({})).status.status_code is StatusCode.ERROR


def test_a_root() -> None:
    assert readable(evolve(span(), parent_id=None), Resource({})).parent is None


def test_our_names_are_those_of_the_conventions() -> None:
    known = {value for name, value in vars(messaging_attributes).items() if name.startswith("MESSAGING_")}
    ours = {name for name in span().attributes if name.startswith("messaging.")}
    assert ours <= known
    assert len(ours) >= 6


def test_success_and_failure_are_told_apart() -> None:
    good, bad = Sender(SpanExportResult.SUCCESS), Sender(SpanExportResult.FAILURE)
    assert OtelExporter(good, {}).export([span()])
    assert not OtelExporter(bad, {}).export([span()])
    exporter = OtelExporter(good, {"service.name": "x"})
    exporter.close()
    assert good.is_shut_down
    assert good.sent[0].name == "publish orders"
