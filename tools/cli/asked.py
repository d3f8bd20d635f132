"""What a record asks of the broker, as headers: delay, priority, expiry, a schedule id, a trace.

What cannot be is refused here already, with a sentence; the broker would refuse the whole batch.
"""

import secrets

from attrs import frozen

from tools.cli.errors import UsageMistake
from tools.cli.times import duration_ms, moment_ms

PRIORITIES = ("critical", "high", "normal", "low", "background")
Header = tuple[str, bytes | None]


@frozen
class Asked:
    """Options of a record, as texts."""

    delay: str | None = None
    deliver_at: str | None = None
    priority: str | None = None
    ttl: str | None = None
    expires_at: str | None = None
    schedule_id: str | None = None
    cancel: str | None = None
    trace: bool = False

    def headers(self, now_ms: int) -> list[Header]:
        """The same for the broker."""
        if self.delay is not None and self.deliver_at is not None:
            raise UsageMistake("--delay and --at exclude each other", "give one of them")
        if self.ttl is not None and self.expires_at is not None:
            raise UsageMistake("--ttl and --expires-at exclude each other", "give one of them")
        found: list[Header] = []
        for name, value in (
            ("tide-delay", None if self.delay is None else duration_ms(self.delay)),
            ("tide-deliver-at", None if self.deliver_at is None else moment_ms(self.deliver_at, now_ms)),
            ("tide-priority", None if self.priority is None else lane(self.priority)),
            ("tide-ttl", None if self.ttl is None else duration_ms(self.ttl)),
            ("tide-expires-at", None if self.expires_at is None else moment_ms(self.expires_at, now_ms)),
            ("tide-schedule-id", self.schedule_id),
            ("tide-cancel", self.cancel),
            ("traceparent", new_traceparent() if self.trace else None),
        ):
            if value is not None:
                found.append((name, as_given(str(value))))
        return found


def lane(text: str) -> str:
    """A priority by its name or number."""
    if text.isdecimal() and int(text) < len(PRIORITIES):
        return PRIORITIES[int(text)]
    if text.lower() in PRIORITIES:
        return text.lower()
    raise UsageMistake(f"{text!r} is no priority", f"one of {', '.join(PRIORITIES)}, or 0 (critical) to 4")


def new_traceparent() -> str:
    """A trace that begins here, and is to be kept."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def header(text: str) -> Header:
    """`name=value`; `name` alone has no value."""
    name, equals, value = text.partition("=")
    if not name:
        raise UsageMistake(f"{text!r} is no header", "write it like source=shop")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageMistake(
            f"the name of the header {text!r} is no UTF-8", "names are texts, values may be any bytes"
        ) from None
    return name, as_given(value) if equals else None


def as_given(text: str) -> bytes:
    """The bytes of an argument as they were typed, also if they are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")
