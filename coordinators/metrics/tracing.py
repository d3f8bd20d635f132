"""Figures of tracing: how much is traced, and what was left out so that nobody waits for it."""

from collections.abc import Iterator

from attrs import define

from coordinators.tracing.tracing import Tracing
from engine.metrics import Family

_LEFT_OUT = ("dropped", "failed", "limited", "unopened")


@define(eq=False)
class TraceMetrics:
    """A collector over the broker's traces and where they are sent."""

    tracing: Tracing

    def collect(self) -> Iterator[Family]:
        """Everything about tracing; `what` has the names of /traces/stats."""
        found = self.tracing.statistics()
        drops = {name: count for name, count in found.items() if any(word in name for word in _LEFT_OUT)}
        yield Family.counter("tidegate_traces_total", "Records that were traced.", [({}, found["begun"])])
        meaning = "Steps of traced records that were noted."
        yield Family.counter("tidegate_trace_events_total", meaning, [({}, found["noted_events"])])
        yield Family.counter(
            "tidegate_trace_drops_total",
            "What was not traced, kept or sent, because a bound was reached or an exporter does not take it.",
            [({"what": name}, count) for name, count in sorted(drops.items())],
        )
        yield Family.gauge(
            "tidegate_trace_queued",
            "Events and spans that wait to be written or sent.",
            [({"what": name}, count) for name, count in sorted(found.items()) if name.endswith("_queued")],
        )
