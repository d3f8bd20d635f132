"""An event of a trace as the topic `__trace_events` holds it: one flat JSON object, described in docs/tracing.md.

Flat, because the readers are tables: Spark's `from_json`, a sink into a database. Fields that do not apply are null
or missing; new ones may come, so readers must not mind what they do not know.
"""

import json
from functools import lru_cache
from typing import Any

from engine.trace.record_trace import RecordTrace, TraceEvent
from engine.trace.timeline import key_fields

SCHEMA_VERSION = 1

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode_event(trace: RecordTrace, event: TraceEvent) -> bytes:
    """The event in UTF-8; what a client sent as broken text is replaced, not passed on."""
    offset = "null" if trace.offset is None else trace.offset
    head = (
        f'{{"schema":{SCHEMA_VERSION},"event":"{event.kind}","time_us":{event.time_us},'
        f'"since_start_us":{event.time_us - trace.start_us},"offset":{offset},'
    )
    tail = _said(tuple(event.attributes.items()))
    return (head + (trace.json_part or _unchanging(trace)) + tail).encode("utf-8", "replace")


@lru_cache(maxsize=1024)
def _said(attributes: tuple[tuple[str, Any], ...]) -> str:
    """What one event says, up to the end of the object. Clients are few: most events say what another said before."""
    said = {name: value for name, value in attributes if value is not None and name != "offset"}
    return f",{_encode(said)[1:]}" if said else "}"


def _unchanging(trace: RecordTrace) -> str:
    """What all events of a trace say alike, without the braces; kept, for encoding it again is most of the work."""
    said: dict[str, Any] = {
        "trace_id": trace.trace_id,
        "parent_id": trace.parent_id,
        "sampled_by": trace.sampled_by.value,
        "topic": trace.topic,
        "partition": trace.partition,
        **key_fields(trace.key),
    }
    trace.json_part = _encode(said)[1:-1]
    return trace.json_part
