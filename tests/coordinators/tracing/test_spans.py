"""Spans made of events: names, parents, lengths, attributes."""

from itertools import count

from coordinators.tracing.spans import Span, SpanKind, span_ended_by
from engine.trace.kinds import EventKind
from engine.trace.record_trace import RecordTrace
from tests.engine.trace.traces import PARENT_ID, TRACE_ID, add, trace


def spans(made: RecordTrace) -> list[Span]:
    """Those that its events end, one after the other."""
    numbers = count(1)
    all_events, made.events = made.events, []
    found = []
    for event in all_events:
        made.events.append(event)
        span = span_ended_by(made, event, lambda: f"{next(numbers):016x}")
        if span is not None:
            found.append(span)
    return found


def whole_life() -> RecordTrace:
    made = trace(7)
    add(made, EventKind.DELAY_SCHEDULED, 100, due_ms=1)
    add(made, EventKind.PUBLISH_PERSISTED, 400, offset=None)
    add(made, EventKind.DELAY_READY, 1_000_000)
    add(made, EventKind.PRIORITY_QUEUED, 1_000_000, lane="high")
    add(made, EventKind.PRIORITY_RELEASED, 1_200_000, offset=7)
    add(made, EventKind.CONSUME_FETCHED, 1_200_500, client_id="cook", address="10.0.0.7", group="kitchen")
    add(made, EventKind.CONSUME_COMMITTED, 1_300_000, group="kitchen", committed_offset=8)
    return made


def test_a_record_has_a_span_for_each_part_of_its_life() -> None:
    made = whole_life()
    start = made.start_us
    assert [(span.name, span.start_us - start, span.end_us - start) for span in spans(made)] == [
        ("publish orders", 0, 400),
        ("delay orders", 100, 1_000_000),
        ("queue orders", 1_000_000, 1_200_000),
        ("fetch orders", 1_200_500, 1_200_500),
        ("commit orders", 1_300_000, 1_300_000),
    ]


def test_the_producers_span_is_the_parent() -> None:
    found = spans(whole_life())
    assert {span.trace_id for span in found} == {TRACE_ID}
    assert {span.parent_id for span in found} == {PARENT_ID}
    assert len({span.span_id for span in found}) == len(found)


def test_without_a_producers_span_the_first_of_ours_is_the_root() -> None:
    made = whole_life()
    made.parent_id = None
    first, *others = spans(made)
    assert first.parent_id is None
    assert {span.parent_id for span in others} == {first.span_id} == {made.span_id}


def test_attributes_by_the_conventions_for_messaging() -> None:
    publish, _, _, fetch, commit = spans(whole_life())
    assert publish.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "publish",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "0",
        "messaging.kafka.offset": 7,
        "messaging.kafka.message.key": "k",
        "messaging.client.id": "till",
        "tidegate.sampled_by": "traceparent",
        "tidegate.due_ms": 1,
    }
    assert publish.kind is SpanKind.SERVER
    assert [event.kind.value for event in publish.events] == [
        "publish.received", "delay.scheduled", "publish.persisted",
    ]  # fmt: skip
    assert fetch.attributes["messaging.operation.type"] == "receive"
    assert fetch.attributes["messaging.consumer.group.name"] == "kitchen"
    assert fetch.attributes["client.address"] == "10.0.0.7"
    assert commit.attributes["messaging.operation.type"] == "settle"
    assert commit.attributes["tidegate.committed_offset"] == 8


def test_a_wait_of_the_brokers_own_has_no_type() -> None:
    delay = spans(whole_life())[1]
    assert delay.kind is SpanKind.INTERNAL
    assert "messaging.operation.type" not in delay.attributes


def test_a_failure() -> None:
    made = trace()
    add(made, EventKind.PUBLISH_FAILED, 5, error="the disk is gone", error_type="StorageError")
    (span,) = spans(made)
    assert span.error == "the disk is gone"
    assert span.attributes["error.type"] == "StorageError"


def test_what_ends_in_a_lane_ends_the_queue() -> None:
    made = trace(None)
    add(made, EventKind.PRIORITY_QUEUED, 10)
    add(made, EventKind.DELAY_EXPIRED, 500)
    (span,) = spans(made)
    assert (span.name, span.end_us - span.start_us) == ("queue orders", 490)


def test_a_key_that_is_no_text_is_left_out() -> None:
    made = trace(key=b"\xff")
    add(made, EventKind.PUBLISH_PERSISTED, 5)
    assert "messaging.kafka.message.key" not in spans(made)[0].attributes
