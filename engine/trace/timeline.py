"""The timeline of one record: each step, its time, and the gap to the step before. As JSON and as a table."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engine.trace.kinds import ENDED_ELSEWHERE
from engine.trace.record_trace import RecordTrace, TraceEvent

_HEAD = ("time (UTC)", "gap", "step", "details")


def as_json(trace: RecordTrace) -> dict[str, Any]:
    """The trace of a record with its steps, in plain values."""
    return {**summary(trace), "steps": _steps(trace)}


def summary(trace: RecordTrace) -> dict[str, Any]:
    """The trace without its steps, as lists show it."""
    return {
        "trace_id": trace.trace_id,
        "parent_id": trace.parent_id,
        "topic": trace.topic,
        "partition": trace.partition,
        "offset": trace.offset,
        **key_fields(trace.key),
        "sampled_by": trace.sampled_by.value,
        "outcome": trace.outcome.value,
        "groups": sorted(trace.groups),
        "start": time_text(trace.start_us),
        "start_us": trace.start_us,
        "duration_us": trace.duration_us,
        "events": len(trace.events),
        "dropped_events": trace.dropped_events,
    }


def as_table(trace: RecordTrace) -> str:
    """The same for people."""
    place = f"{trace.topic}-{trace.partition} @ {place_text(trace.offset, trace.outcome)}"
    rows = [_HEAD, *(_row(trace, number) for number in range(len(trace.events)))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        f"trace {trace.trace_id}  {place}  {trace.outcome.value} after {duration_text(trace.duration_us)}",
        _line(rows[0], widths),
        "-+-".join("-" * width for width in widths),
        *(_line(row, widths) for row in rows[1:]),
    ]
    if trace.dropped_events:
        lines.append(f"({trace.dropped_events} later events were not kept)")
    return "\n".join(lines) + "\n"


def place_text(offset: int | None, outcome: str) -> str:
    """Where a record is in the log, or that it never will be."""
    if offset is not None:
        return str(offset)
    return "never in the log" if outcome in ENDED_ELSEWHERE else "not yet in the log"


def key_fields(key: bytes | None) -> dict[str, str | None]:
    """A record's key as text, or in base64 where it is none."""
    if key is None:
        return {"key": None, "key_base64": None}
    try:
        return {"key": key.decode(), "key_base64": None}
    except UnicodeDecodeError:
        return {"key": None, "key_base64": base64.b64encode(key).decode()}


def time_text(time_us: int) -> str:
    """RFC 3339 with microseconds."""
    seconds, microseconds = divmod(time_us, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{microseconds:06d}Z"


def duration_text(duration_us: int) -> str:
    """In the unit that reads best."""
    if abs(duration_us) < 1000:
        return f"{duration_us} us"
    if abs(duration_us) < 1_000_000:
        return f"{duration_us / 1000:.1f} ms"
    return f"{duration_us / 1_000_000:.3f} s"


def _gap_us(trace: RecordTrace, number: int) -> int:
    return trace.events[number].time_us - trace.events[number - 1].time_us if number else 0


def _steps(trace: RecordTrace) -> list[dict[str, Any]]:
    return [
        {
            "event": event.kind.value,
            "time": time_text(event.time_us),
            "time_us": event.time_us,
            "gap_us": _gap_us(trace, number),
            "since_start_us": event.time_us - trace.start_us,
            "attributes": _plain(event.attributes),
        }
        for number, event in enumerate(trace.events)
    ]


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _row(trace: RecordTrace, number: int) -> tuple[str, ...]:
    event: TraceEvent = trace.events[number]
    gap = f"+{duration_text(_gap_us(trace, number))}" if number else ""
    # A client chose some of these words: none may steer the terminal that shows them.
    details = "".join(
        letter if letter.isprintable() else "?"
        for letter in " ".join(f"{name}={value}" for name, value in _plain(event.attributes).items())
    )
    return time_text(event.time_us)[11:-1], gap, event.kind.value, details


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    time, gap, *rest = (
        cell.rjust(width) if column == 1 else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return " | ".join((time, gap, *rest)).rstrip()
