"""The program's own log, on standard error: for people on a terminal, one JSON object per line elsewhere.

Everything below logs with the standard library's `logging`; what is worth a field of its own goes into `extra`.
structlog takes it from there. A client can make us write the same line over and over: so lines of one kind (of one
place in the code) are limited per second, and the next one tells how many were left out.

Lines below a warning wait until the broker is ready: structlog is loaded with the first line, and the start is quick.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
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


class Output(logging.StreamHandler[TextIO]):
    """Writes lines; until `write_held` keeps those that can wait."""

    def __init__(self, stream: TextIO, *, is_text: bool) -> None:
        super().__init__(stream)
        self._is_text = is_text
        self._held: list[logging.LogRecord] | None = []

    def emit(self, record: logging.LogRecord) -> None:
        if self._held is not None:
            self._held.append(record)
            if record.levelno < logging.WARNING:
                return
            self.write_held()
            return
        super().emit(record)

    def write_held(self) -> None:
        """Write what was kept, and everything at once from now on."""
        held, self._held = self._held, None
        for record in held or ():
            super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        if self.formatter is None:
            self.formatter = _formatter(is_text=self._is_text, colors=self._is_text and self.stream.isatty())
        return self.formatter.format(record)


_limit = RateLimit(0)
_output: Output | None = None


def line_counts() -> tuple[Counter[str], int]:
    """Lines written by level, and lines left out; nothing is counted where a program has its own logging."""
    return _limit.written, _limit.suppressed


def release() -> None:
    """The broker is ready, or did not start: write what waits."""
    if _output is not None:
        _output.write_held()


def configure(settings: BrokerSettings, stream: TextIO | None = None) -> None:
    """Log to `stream` (standard error) from now on; what is no warning waits for `release`."""
    global _limit, _output
    chosen, output = settings.text("logging.format"), stream or sys.stderr
    is_text = chosen == "text" or (chosen == "auto" and output.isatty())
    _limit = RateLimit(settings.integer("logging.rate.limit"))
    _output = Output(output, is_text=is_text)
    _output.addFilter(_limit)
    root = logging.getLogger()
    root.handlers[:] = [_output]
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
            _stamped,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _escaped if is_text else structlog.processors.format_exc_info,
            renderer,
        ],
    )


def _stamped(_logger: object, _method: str, event: Event) -> Event:
    """When it happened, which may be before it is written."""
    event["timestamp"] = datetime.fromtimestamp(event["_record"].created, UTC).isoformat().replace("+00:00", "Z")
    return event


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
