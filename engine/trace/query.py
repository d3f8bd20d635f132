"""What a search asks of traces. Every part that is set must hold."""

from attrs import fields, frozen

from engine.trace.kinds import Outcome
from engine.trace.record_trace import KEY_MAX_BYTES, RecordTrace


@frozen(kw_only=True)
class TraceQuery:
    """Times are wall milliseconds; a trace is in a span of time if its first event is (`until_ms` not included)."""

    trace_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    key: bytes | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    min_duration_ms: float | None = None
    max_duration_ms: float | None = None
    outcome: Outcome | None = None
    group: str | None = None

    def matches(self, trace: RecordTrace) -> bool:
        """Whether the trace is one of those asked for."""
        return self._is_the_record(trace) and self._is_in_time(trace) and self._has_come_so_far(trace)

    def _is_the_record(self, trace: RecordTrace) -> bool:
        return (
            self.trace_id in (None, trace.trace_id)
            and self.topic in (None, trace.topic)
            and self.partition in (None, trace.partition)
            and self.offset in (None, trace.offset)
            and (self.key is None or _same_key(self.key, trace))
        )

    def _is_in_time(self, trace: RecordTrace) -> bool:
        duration_ms = trace.duration_us / 1000
        return (
            (self.since_ms is None or trace.start_us >= self.since_ms * 1000)
            and (self.until_ms is None or trace.start_us < self.until_ms * 1000)
            and (self.min_duration_ms is None or duration_ms >= self.min_duration_ms)
            and (self.max_duration_ms is None or duration_ms <= self.max_duration_ms)
        )

    def _has_come_so_far(self, trace: RecordTrace) -> bool:
        return self.outcome in (None, trace.outcome) and (self.group is None or self.group in trace.groups)

    @property
    def is_empty(self) -> bool:
        """Whether it asks for everything."""
        return all(getattr(self, each.name) is None for each in fields(TraceQuery))


def _same_key(key: bytes, trace: RecordTrace) -> bool:
    """Of a long key only the beginning and the length are kept."""
    return trace.key == key[:KEY_MAX_BYTES] and trace.key_size == len(key)
