"""The program's own log, on standard error: for people on a terminal, one JSON object per line elsewhere.

Everything below logs with the standard library's `logging`; what is worth a field of its own goes into `extra`.
A client can make us write the same line over and over: so lines of one kind (of one place in the code) are limited per
second, and the next one tells how many were left out.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TextIO

from engine.config.resolve import BrokerSettings
from tidegate.log_lines import JsonLines, TextLines

WINDOW_S = 1.0


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
    handler.setFormatter(TextLines(colours=output.isatty()) if is_text else JsonLines())
    handler.addFilter(_limit)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.text("logging.level").upper())
