"""Traces and batches for the tests of tracing."""

from collections.abc import Sequence

from engine.records.layout import NO_PRODUCER_ID, BatchHeader, pack_record, seal_batch
from engine.trace.kinds import EventKind
from engine.trace.record_trace import RecordTrace, SampledBy, TraceEvent

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT_ID = "b7ad6b7169203331"
NOON_US = 1_700_000_000_000_000

Headers = Sequence[tuple[bytes, bytes | None]]


def traceparent(trace_id: str = TRACE_ID, *, sampled: bool = True) -> bytes:
    return f"00-{trace_id}-{PARENT_ID}-{'01' if sampled else '00'}".encode()


def trace_header(trace_id: str = TRACE_ID, *, sampled: bool = True) -> tuple[bytes, bytes]:
    return b"traceparent", traceparent(trace_id, sampled=sampled)


def section(records: Sequence[tuple[bytes | None, bytes | None, Headers]]) -> bytes:
    return b"".join(pack_record(index, 0, *record) for index, record in enumerate(records))


def batch(
    records: Sequence[tuple[bytes | None, bytes | None, Headers]], *, timestamp_ms: int = 1_700_000_000_000
) -> bytes:
    """An uncompressed batch of (key, value, headers)."""
    count = len(records)
    header = BatchHeader(
        0, 0, -1, 2, 0, 0, count - 1, timestamp_ms, timestamp_ms, NO_PRODUCER_ID, -1, -1, count,
    )  # fmt: skip
    return seal_batch(header, section(records))


def trace(
    offset: int | None = 0,
    *,
    trace_id: str = TRACE_ID,
    topic: str = "orders",
    partition: int = 0,
    start_us: int = NOON_US,
    key: bytes | None = b"k",
) -> RecordTrace:
    """A trace that has been received."""
    made = RecordTrace(trace_id, PARENT_ID, "00f067aa0ba902b7", SampledBy.TRACEPARENT, topic, partition, offset=offset)
    made.key, made.key_size = key, -1 if key is None else len(key)
    made.add(TraceEvent(EventKind.PUBLISH_RECEIVED, start_us, {"client_id": "till"}), 64)
    return made


def add(made: RecordTrace, kind: EventKind, after_us: int, **attributes: object) -> None:
    """An event so long after the trace began."""
    made.add(TraceEvent(kind, made.start_us + after_us, attributes), 64)
