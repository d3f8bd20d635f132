"""W3C Trace Context: the `traceparent` and `tracestate` headers of a record.

A malformed value is no trace, never an error: the header is the producer's, and the record is stored all the same.
"""

import re

from attrs import frozen

TRACEPARENT = b"traceparent"
TRACESTATE = b"tracestate"
TRACESTATE_MAX_BYTES = 512

# A later version may append fields after the flags (section 4.3 of the recommendation); version ff is none.
_FORM = re.compile(rb"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE = b"0" * 32
_NO_SPAN = b"0" * 16
_FIRST_VERSION = b"00"
_SAMPLED = 0x01


@frozen
class TraceContext:
    """Who caused the record: the trace, the producer's span, and whether that trace is recorded."""

    trace_id: str
    parent_id: str
    sampled: bool
    state: str = ""


def parse_traceparent(value: bytes | memoryview | None, state: bytes | memoryview | None = None) -> TraceContext | None:
    """The context that the header says, or None if it says none."""
    form = None if value is None else _FORM.fullmatch(value)
    if form is None:
        return None
    version, trace_id, parent_id, flags, more = form.groups()
    if trace_id == _NO_TRACE or parent_id == _NO_SPAN or (version == _FIRST_VERSION and more is not None):
        return None
    return TraceContext(trace_id.decode(), parent_id.decode(), bool(int(flags, 16) & _SAMPLED), _state(state))


def _state(value: bytes | memoryview | None) -> str:
    if value is None or len(value) > TRACESTATE_MAX_BYTES:
        return ""
    try:
        return bytes(value).decode("ascii")
    except UnicodeDecodeError:
        return ""
