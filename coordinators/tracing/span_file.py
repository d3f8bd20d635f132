"""Spans in a file of JSON lines, each line one export in OTLP's JSON, which collectors read (`otlpjsonfile`).

When the file has grown to its size it becomes `.1`, the former `.1` becomes `.2`, and so on; the last one goes.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from coordinators.tracing.spans import SCHEMA_URL, SCOPE, Span, event_attributes

_SAMPLED = 1
_ERROR = 2


class SpanFile:
    """An exporter that needs no other package."""

    def __init__(self, path: str, max_bytes: int, max_files: int, resource: Mapping[str, str]) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._resource = resource

    def export(self, spans: Sequence[Span]) -> bool:
        """Append one line."""
        line = encode_line(spans, self._resource)
        try:
            if os.path.getsize(self._path) + len(line) > self._max_bytes:
                self._rotate()
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        with open(self._path, "ab") as file:
            file.write(line)
        return True

    def close(self) -> None:
        """Nothing is held between exports."""

    def _rotate(self) -> None:
        names = [self._path, *(f"{self._path}.{number}" for number in range(1, self._max_files + 1))]
        for older, newer in reversed(list(zip(names[1:], names, strict=False))):
            if os.path.exists(newer):
                os.replace(newer, older)
        if self._max_files == 0:
            os.unlink(self._path)


def encode_line(spans: Sequence[Span], resource: Mapping[str, str]) -> bytes:
    """An ExportTraceServiceRequest in OTLP's JSON: ids in hexadecimal, 64-bit numbers as text."""
    scope = {"scope": {"name": SCOPE}, "schemaUrl": SCHEMA_URL, "spans": [_span(span) for span in spans]}
    whole = {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _span(span: Span) -> dict[str, Any]:
    said = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id or "",
        "flags": _SAMPLED,
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": _nanoseconds(span.start_us),
        "endTimeUnixNano": _nanoseconds(span.end_us),
        "attributes": _attributes(span.attributes),
        "events": [
            {
                "timeUnixNano": _nanoseconds(event.time_us),
                "name": event.kind.value,
                "attributes": _attributes(event_attributes(event)),
            }
            for event in span.events
        ],
        "status": {} if span.error is None else {"code": _ERROR, "message": span.error},
    }
    return said | ({"traceState": span.state} if span.state else {})


def _nanoseconds(time_us: int) -> str:
    return str(time_us * 1000)


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value)}
