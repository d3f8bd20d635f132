"""An event of a trace as the topic `__trace_events` holds it: one flat JSON object, described in docs/tracing.md.

Flat, because the readers are tables: Spark's `from_json`, a sink into a database. Fields that do not apply are null
or missing; new ones may come, so readers must not mind what they do not know.
"""

import json
from typing import Any

from engine.trace.record_trace import RecordTrace, TraceEvent
from engine.trace.timeline import key_fields

SCHEMA_VERSION = 1

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def event_fields(trace: RecordTrace, event: TraceEvent) -> dict[str, Any]:
    """The event's fields by name."""
    return {
        "schema": SCHEMA_VERSION,
        "event": event.kind.value,
        "time_us": event.time_us,
        "since_start_us": event.time_us - trace.start_us,
        "trace_id": trace.trace_id,
        "parent_id": trace.parent_id,
        "sampled_by": trace.sampled_by.value,
        "topic": trace.topic,
        "partition": trace.partition,
        "offset": trace.offset,
        **key_fields(trace.key),
        **{name: value for name, value in event.attributes.items() if value is not None and name != "offset"},
    }


def encode_event(trace: RecordTrace, event: TraceEvent) -> bytes:
    """The same as UTF-8; what a client sent as broken text is replaced, not passed on."""
    return _encode(event_fields(trace, event)).encode("utf-8", "replace")
