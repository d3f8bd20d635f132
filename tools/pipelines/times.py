"""Times as people write them."""

import re
from datetime import UTC, datetime

from tools.pipelines.options import UsageError

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SHORT = re.compile(r"(\d+)(ms|[smhdw])")
_LONG = re.compile(r"(\d+) (microsecond|millisecond|second|minute|hour|day|week)s?", re.IGNORECASE)


def epoch_ms(option: str, text: str | None) -> int | None:
    """Milliseconds since 1970, from such a number or from ISO 8601, which is UTC unless it says otherwise."""
    if text is None:
        return None
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--{option} is {text!r}: a time such as 2026-11-16T05:00 or in epoch ms is expected"
        ) from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def span(option: str, text: str, *, least: int = 0) -> str:
    """A length of time in Spark's words, from those or from 90s, 5m, 2h."""
    words = " ".join(text.split())
    if short := _SHORT.fullmatch(words):
        words = f"{short[1]} {_UNITS[short[2]]}"
    numbers = [int(number) for number, _ in _LONG.findall(words)]
    if _LONG.sub("", words).strip() or not numbers or sum(numbers) < least:
        raise UsageError(f"--{option} is {text!r}: a length of time such as '5 minutes', '1 hour' or 90s is expected")
    return words
