"""From events to spans, as OpenTelemetry means them: names and attributes of the messaging conventions (1.44).

The producer's span is the parent of every span of the broker. If the record came without a context, the broker's first
span is the root and the parent of the later ones. A span is made when the event happens that ends it; an event that
ends nothing is a span without length. The conventions speak of clients: where an operation is the broker's own (the
wait for its time, the queue) the span has a name and no type.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final

from attrs import frozen

from engine.trace.kinds import EventKind
from engine.trace.record_trace import RecordTrace, TraceEvent
from engine.trace.timeline import key_fields

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"
SCOPE: Final = "tidegate"


class SpanKind(IntEnum):
    """The numbers that OTLP carries."""

    INTERNAL = 1
    SERVER = 2


@frozen
class Span:
    """A finished span. `events` are those of the record that fall into it."""

    trace_id: str
    span_id: str
    parent_id: str | None
    state: str
    name: str
    kind: SpanKind
    start_us: int
    end_us: int
    attributes: Mapping[str, Any]
    events: tuple[TraceEvent, ...]
    error: str | None = None


@frozen
class _Form:
    """Which span an event ends: the operation, its type in the conventions, and the event that began it."""

    operation: str
    type: str | None
    kind: SpanKind
    begun_by: EventKind | None = None


_PUBLISH = _Form("publish", "send", SpanKind.SERVER, EventKind.PUBLISH_RECEIVED)
_DELAY = _Form("delay", None, SpanKind.INTERNAL, EventKind.DELAY_SCHEDULED)
_QUEUE = _Form("queue", None, SpanKind.INTERNAL, EventKind.PRIORITY_QUEUED)

_FORMS: Final[dict[EventKind, _Form]] = {
    EventKind.PUBLISH_PERSISTED: _PUBLISH,
    EventKind.PUBLISH_FAILED: _PUBLISH,
    EventKind.DELAY_READY: _DELAY,
    EventKind.DELAY_CANCELLED: _DELAY,
    EventKind.DELAY_EXPIRED: _DELAY,
    EventKind.PRIORITY_RELEASED: _QUEUE,
    EventKind.CONSUME_FETCHED: _Form("fetch", "receive", SpanKind.SERVER),
    EventKind.CONSUME_COMMITTED: _Form("commit", "settle", SpanKind.SERVER),
    EventKind.CONSUME_ACKED: _Form("ack", "settle", SpanKind.SERVER),
    EventKind.CONSUME_NACKED: _Form("nack", "settle", SpanKind.SERVER),
    EventKind.CONSUME_REJECTED: _Form("reject", "settle", SpanKind.SERVER),
    EventKind.VISIBILITY_TIMEOUT: _Form("timeout", None, SpanKind.INTERNAL),
    EventKind.VISIBILITY_EXTENDED: _Form("extend", None, SpanKind.SERVER),
    EventKind.DLQ_ROUTED: _Form("dead-letter", None, SpanKind.INTERNAL),
}

# What an event says, by the names of the conventions; everything else goes under `tidegate.`.
_NAMES: Final = {
    "client_id": "messaging.client.id",
    "address": "client.address",
    "group": "messaging.consumer.group.name",
    "offset": "messaging.kafka.offset",
    "error": "error.message",
    "error_type": "error.type",
}


def span_ended_by(trace: RecordTrace, event: TraceEvent, new_span_id: Callable[[], str]) -> Span | None:
    """The span that this event, the trace's last, ends; None if it ends none."""
    form = _FORMS.get(event.kind)
    if form is None:
        return None
    if form is _DELAY and event.kind is not EventKind.DELAY_READY and trace.last(EventKind.PRIORITY_QUEUED) is not None:
        form = _QUEUE  # its time was up, or it was taken back, in the lane
    begun = None if form.begun_by is None else trace.last(form.begun_by)
    start_us = event.time_us if begun is None else begun.time_us
    within = (event,) if begun is None else tuple(each for each in trace.events if each.time_us >= start_us)
    is_first = form is _PUBLISH
    failed = event.kind is EventKind.PUBLISH_FAILED
    return Span(
        trace.trace_id,
        trace.span_id if is_first else new_span_id(),
        trace.parent_id if is_first or trace.parent_id is not None else trace.span_id,
        trace.state,
        f"{form.operation} {trace.topic}",
        form.kind,
        start_us,
        event.time_us,
        _attributes(trace, form, within),
        within,
        str(event.attributes.get("error")) if failed else None,
    )


def event_attributes(event: TraceEvent) -> dict[str, Any]:
    """What an event says, by the names that spans use."""
    return {
        _NAMES.get(name, f"tidegate.{name}"): value for name, value in event.attributes.items() if value is not None
    }


def _attributes(trace: RecordTrace, form: _Form, within: tuple[TraceEvent, ...]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "messaging.system": "kafka",
        "messaging.operation.name": form.operation,
        "messaging.destination.name": trace.topic,
        "messaging.destination.partition.id": str(trace.partition),
        "tidegate.sampled_by": trace.sampled_by.value,
    }
    if form.type is not None:
        said["messaging.operation.type"] = form.type
    if trace.offset is not None:
        said["messaging.kafka.offset"] = trace.offset
    if (key := key_fields(trace.key)["key"]) is not None:
        said["messaging.kafka.message.key"] = key
    for event in within:
        said |= event_attributes(event)
    return said
