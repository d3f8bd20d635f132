"""Times as people write them."""

from datetime import UTC, datetime

from tools.pipelines.options import UsageError


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
