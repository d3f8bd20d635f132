"""The program's own log, on standard error: for people on a terminal, one JSON object per line elsewhere.

Everything below logs with the standard library's `logging`; what is worth a field of its own goes into `extra`.
structlog takes it from there. A client can make us write the same line over and over: so lines of one kind (of one
place in the code) are limited per second, and the next one tells how many were left out.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

from engine.config.resolve import BrokerSettings

WINDOW_S = 1.0
# What structlog would import for prettier tracebacks, wherever it is installed: 60 ms that a server has no use for.
_UNWANTED = ("rich", "better_exceptions")

Event = MutableMapping[str, Any]


class RateLimit(logging.Filter):
    """Lets so many lines of one kind through per second, and counts all."""

    def __init__(self, lines_per_second: int, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.written: Counter[str] = Counter()
        self.suppressed = 0
        self._limit = lines_per_second
        self._now = now
        # By place in the code: when its second began, lines in it, lines left out since the last that was written.
        self._kinds: dict[tuple[str, int], tuple[float, int, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the line; it carries how many before it were not."""
        kind, now = (record.pathname, record.lineno), self._now()
        began, lines, left_out = self._kinds.get(kind, (now, 0, 0))
        if now - began >= WINDOW_S:
            began, lines = now, 0
        if 0 < self._limit <= lines:
            self.suppressed += 1
            self._kinds[kind] = (began, lines, left_out + 1)
            return False
        if left_out:
            record.suppressed = left_out
        self._kinds[kind] = (began, lines + 1, 0)
        self.written[record.levelname.lower()] += 1
        return True


_limit = RateLimit(0)


def line_counts() -> tuple[Counter[str], int]:
    """Lines written by level, and lines left out; nothing is counted where a program has its own logging."""
    return _limit.written, _limit.suppressed


def configure(settings: BrokerSettings, stream: TextIO | None = None) -> None:
    """Log to `stream` (standard error) from now on."""
    global _limit
    chosen, output = settings.text("logging.format"), stream or sys.stderr
    is_text = chosen == "text" or (chosen == "auto" and output.isatty())
    _limit = RateLimit(settings.integer("logging.rate.limit"))
    handler = logging.StreamHandler(output)
    handler.addFilter(_limit)
    handler.setFormatter(_formatter(is_text=is_text, colors=is_text and output.isatty()))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.text("logging.level").upper())


def _formatter(*, is_text: bool, colors: bool) -> logging.Formatter:
    structlog = _structlog()
    renderer: Any = structlog.processors.JSONRenderer()
    if is_text:
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, pad_event_to=0)
    return structlog.stdlib.ProcessorFormatter(  # type: ignore[no-any-return]
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _escaped if is_text else structlog.processors.format_exc_info,
            renderer,
        ],
    )


def _escaped(_logger: object, _method: str, event: Event) -> Event:
    """Texts may come from a client: none of them may end the line or command the terminal."""
    for name, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[name] = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in value)
    return event


def _structlog() -> Any:
    hidden = [name for name in _UNWANTED if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # None makes the import fail
    try:
        import structlog
    finally:
        for name in hidden:
            del sys.modules[name]
    return structlog
