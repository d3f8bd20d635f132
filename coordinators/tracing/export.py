"""Carries spans to exporters: a bounded queue and a thread for each, so that none waits for another, or the broker
for any of them. What does not fit into the queue is dropped and counted, and so is what an exporter fails to send.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, field

from coordinators.tracing.spans import Span, span_ended_by
from engine.trace.record_trace import RecordTrace, TraceEvent

logger = logging.getLogger("tidegate.tracing")

BATCH_SPANS = 512
LINGER_S = 1.0
CLOSE_S = 1.0


class Exporter(Protocol):
    """Sends spans somewhere; called in a thread of its own."""

    def export(self, spans: Sequence[Span]) -> bool:
        """Send them; whether that went well."""

    def close(self) -> None:
        """Give up what is under way, then let go of everything."""


class ExportQueue:
    """The spans that wait for one exporter."""

    def __init__(self, name: str, exporter: Exporter, size: int, linger_s: float = LINGER_S) -> None:
        self.name = name
        self.exported = 0
        self.failed = 0
        self.dropped = 0
        self._exporter = exporter
        self._size = size
        self._linger_s = linger_s
        self._spans: deque[Span] = deque()
        self._wake = threading.Event()
        self._is_closing = False
        self._was_failing = False
        self._thread = threading.Thread(target=self._run, name=f"trace-{name}", daemon=True)
        self._thread.start()

    def put(self, span: Span) -> None:
        """Send it some time; never waits."""
        if len(self._spans) >= self._size:
            self.dropped += 1
            return
        self._spans.append(span)
        if len(self._spans) >= BATCH_SPANS and not self._wake.is_set():
            self._wake.set()

    def close(self, patience_s: float = CLOSE_S) -> None:
        """Send what is there, within that time; then give up."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(patience_s)
        self._exporter.close()
        self._thread.join(patience_s)

    def statistics(self) -> dict[str, int]:
        """Spans sent, waiting, dropped for lack of room, and lost in sending."""
        prefix = f"spans_{self.name.replace('-', '_')}"
        return {
            f"{prefix}_exported": self.exported,
            f"{prefix}_queued": len(self._spans),
            f"{prefix}_dropped": self.dropped,
            f"{prefix}_failed": self.failed,
        }

    def _run(self) -> None:
        while True:
            self._wake.wait(self._linger_s)
            self._wake.clear()
            while self._spans:
                # Taken out one by one: the loop adds to the queue meanwhile.
                self._export([self._spans.popleft() for _ in range(min(len(self._spans), BATCH_SPANS))])
            if self._is_closing:
                return

    def _export(self, spans: Sequence[Span]) -> None:
        try:
            went_well = self._exporter.export(spans)
        except Exception as error:
            went_well = False
            self._complain(str(error) or type(error).__name__)
        if went_well:
            self.exported += len(spans)
            self._was_failing = False
        else:
            self.failed += len(spans)
            self._complain("refused or not reached")

    def _complain(self, reason: str) -> None:
        """Once, until it works again."""
        if not self._was_failing:
            self._was_failing = True
            logger.warning("spans cannot be exported by %s and are dropped: %s", self.name, reason)


@define(eq=False)
class SpanSink:
    """A sink of events that makes spans of them for every exporter."""

    random_bytes: Callable[[int], bytes]
    queues: Sequence[ExportQueue] = field(factory=list)

    def event(self, trace: RecordTrace, event: TraceEvent) -> None:
        """Send the span that the event ends, if it ends one."""
        span = span_ended_by(trace, event, self._new_span_id)
        if span is not None:
            for queue in self.queues:
                queue.put(span)

    def statistics(self) -> dict[str, int]:
        """The queues'."""
        total: dict[str, int] = {}
        for queue in self.queues:
            total |= queue.statistics()
        return total

    def flush(self) -> None:
        """The threads do that."""

    def close(self) -> None:
        """End the threads; spans that cannot be sent at once are lost."""
        for queue in self.queues:
            queue.close()

    def _new_span_id(self) -> str:
        return self.random_bytes(8).hex()
