"""Figures of tracing."""

import os

from coordinators.metrics.tracing import TraceMetrics
from coordinators.tracing.tracing import Tracing
from engine.clock import ManualClock
from tests.wire.http.scraping import collected


class Sink:
    """A sink that has more than it can send."""

    def statistics(self) -> dict[str, int]:
        return {"spans_otlp_exported": 7, "spans_otlp_queued": 5, "spans_otlp_dropped": 3, "spans_otlp_failed": 2}


def test_what_was_traced_and_what_was_dropped_is_told() -> None:
    tracing = Tracing(ManualClock(), os.urandom)
    tracing.counts["noted_events"] = 4
    tracing.counts["dropped_traces"] = 1
    tracing.sinks.append(Sink())  # type: ignore[arg-type]
    found = collected(TraceMetrics(tracing).collect())
    assert found("tidegate_traces_total") == 0
    assert found("tidegate_trace_events_total") == 4
    assert found("tidegate_trace_drops_total", what="dropped_traces") == 1
    assert found("tidegate_trace_drops_total", what="spans_otlp_dropped") == 3
    assert found("tidegate_trace_drops_total", what="spans_otlp_failed") == 2
    assert found("tidegate_trace_queued", what="spans_otlp_queued") == 5
    assert not found.has("tidegate_trace_drops_total", what="spans_otlp_exported")
