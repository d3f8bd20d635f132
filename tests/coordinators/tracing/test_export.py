"""Exporters never hold up the broker."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from coordinators.tracing.export import BATCH_SPANS, ExportQueue, SpanSink
from coordinators.tracing.spans import Span, span_ended_by
from engine.trace.kinds import EventKind
from tests.engine.trace.traces import add, trace


def span() -> Span:
    made = trace()
    add(made, EventKind.PUBLISH_PERSISTED, 5)
    found = span_ended_by(made, made.events[-1], lambda: "1" * 16)
    assert found is not None
    return found


def until(condition: Callable[[], bool], patience_s: float = 10) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class Kept:
    """An exporter that keeps what it gets, or waits until it is let go, or fails."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.error: Exception | None = None
        self.refuses = False
        self.closed = False

    def export(self, spans: Sequence[Span]) -> bool:
        self.go_on.wait(20)
        if self.error is not None:
            raise self.error
        self.spans += spans
        return not self.refuses

    def close(self) -> None:
        self.closed = True
        self.go_on.set()


def test_spans_arrive_in_order() -> None:
    kept = Kept()
    queue = ExportQueue("file", kept, 10_000, linger_s=0.01)
    put = [span() for _ in range(BATCH_SPANS + 10)]
    for each in put:
        queue.put(each)
    until(lambda: queue.exported == len(put))
    assert kept.spans == put
    queue.close()
    assert kept.closed


def test_a_stuck_exporter_costs_spans_and_not_time() -> None:
    kept = Kept()
    kept.go_on.clear()
    queue = ExportQueue("otlp-http", kept, 100, linger_s=0.01)
    began = time.monotonic()
    for _ in range(10_000):
        queue.put(span())
    assert time.monotonic() - began < 5, "putting never waits"
    assert queue.dropped >= 10_000 - 100 - BATCH_SPANS
    assert queue.statistics()["spans_otlp_http_queued"] <= 100
    began = time.monotonic()
    queue.close(patience_s=0.05)
    assert time.monotonic() - began < 5
    assert kept.closed


def test_failures_are_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    kept.error = OSError("connection refused")
    queue = ExportQueue("otlp-http", kept, 100, linger_s=0.005)
    with caplog.at_level(logging.WARNING, "tidegate.tracing"):
        for number in range(3):
            queue.put(span())
            until(lambda number=number: queue.failed == number + 1)  # type: ignore[misc]
    assert [record.getMessage() for record in caplog.records] == [
        "spans cannot be exported by otlp-http and are dropped: connection refused"
    ]
    kept.error, kept.refuses = None, True
    queue.put(span())
    until(lambda: queue.failed == 4)
    kept.refuses = False
    queue.put(span())
    until(lambda: queue.exported == 1)
    queue.close()


def test_what_waits_is_sent_at_the_end() -> None:
    kept = Kept()
    queue = ExportQueue("file", kept, 100, linger_s=60)
    queue.put(span())
    queue.close()
    assert len(kept.spans) == 1


def test_every_exporter_gets_every_span() -> None:
    one, two = Kept(), Kept()
    sink = SpanSink(lambda size: b"\1" * size, [ExportQueue("file", one, 10), ExportQueue("console", two, 10)])
    made = trace()
    sink.event(made, made.events[0])
    add(made, EventKind.PUBLISH_PERSISTED, 5)
    sink.event(made, made.events[1])
    sink.flush()
    sink.close()
    assert [each.name for each in one.spans] == [each.name for each in two.spans] == ["publish orders"]
    assert sink.statistics() == {
        "spans_file_exported": 1, "spans_file_queued": 0, "spans_file_dropped": 0, "spans_file_failed": 0,
        "spans_console_exported": 1, "spans_console_queued": 0, "spans_console_dropped": 0, "spans_console_failed": 0,
    }  # fmt: skip
