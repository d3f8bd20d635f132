"""Spans and points in time as people write them: `90s`, `1h30m`, `2026-11-16T12:00`, `+10m`, `-1h`, `now`."""

import re
from datetime import UTC, datetime

from tools.cli.errors import UsageMistake

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+")
_EPOCH = re.compile(r"\d{10,16}")
_STEPS = (("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))


def duration_ms(text: str) -> int:
    """`90s`, `1h30m`, `250ms`; a number alone is milliseconds, as in the headers."""
    text = text.strip()
    if text.isdecimal():
        return int(text)
    if not _WHOLE.fullmatch(text):
        raise UsageMistake(f"{text!r} is no span of time", "write it like 500ms, 90s, 15m, 1h30m or 2d")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text)))


def moment_ms(text: str, now_ms: int) -> int:
    """A point in time as milliseconds since 1970; one without a zone is local time."""
    text = text.strip()
    if text == "now":
        return now_ms
    if text[:1] in ("+", "-") and _is_span(text[1:]):
        return now_ms + (1 if text[0] == "+" else -1) * duration_ms(text[1:])
    if _EPOCH.fullmatch(text):
        return int(text) if len(text) > 10 else int(text) * 1_000
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1_000)
    except (ValueError, OverflowError):
        hint = "write it like 2026-11-16T12:00, 2026-11-16T12:00:00Z, +10m, -1h, now, or as milliseconds since 1970"
        raise UsageMistake(f"{text!r} is no point in time", hint) from None


def _is_span(text: str) -> bool:
    return text.isdecimal() or _WHOLE.fullmatch(text) is not None


def moment_text(time_ms: int | None) -> str:
    """UTC, to the millisecond."""
    if time_ms is None or time_ms < 0:
        return "-"
    try:
        moment = datetime.fromtimestamp(time_ms / 1_000, UTC)
    except (ValueError, OverflowError):
        return f"{time_ms} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{time_ms % 1_000:03d}Z"


def span_text(span_ms: int | None) -> str:
    """`1h30m`, `2.5s`, `40ms`: the two largest units."""
    if span_ms is None:
        return "-"
    sign, rest = ("-", -span_ms) if span_ms < 0 else ("", span_ms)
    if rest < 1_000:
        return f"{sign}{rest}ms"
    if rest < 60_000:
        return f"{sign}{rest / 1_000:.1f}s".replace(".0s", "s")
    parts = []
    for unit, size_ms in _STEPS:
        count, rest = divmod(rest, size_ms)
        if count:
            parts.append(f"{count}{unit}")
    return sign + "".join(parts[:2])


def away_text(time_ms: int | None, now_ms: int) -> str:
    """How far a point in time is from now: `in 5m`, `3s ago`."""
    if time_ms is None:
        return "-"
    gap_ms = time_ms - now_ms
    return f"in {span_text(gap_ms)}" if gap_ms >= 0 else f"{span_text(-gap_ms)} ago"
