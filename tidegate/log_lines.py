"""How a line of the program's own log is written: as JSON for machines, as text for people.

What was given as `extra` becomes a field of its own. These are few enough lines to have them here: a logging framework
would take longer to import than the rest of the log together, and every start waits for it.
"""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; all else was given as `extra`."""

RESET, BOLD, DIM, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = (
    f"\x1b[{code}m" for code in (0, 1, 2, 31, 32, 33, 34, 35, 36)
)
_LEVEL_COLOURS = {logging.WARNING: YELLOW, logging.ERROR: RED, logging.CRITICAL: RED}
_LEVEL_WIDTH = len("critical")


class JsonLines(logging.Formatter):
    """One JSON object per line; non-ASCII is escaped, so no text can end it early."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **_fields(record),
            "timestamp": _timestamp(record),
        }
        traceback = _traceback(self, record)
        if traceback:
            line["exception"] = traceback
        return json.dumps(line, default=repr)


class TextLines(logging.Formatter):
    """Time, level, event, logger and fields, and the traceback of a bug below it."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        line = " ".join(self._parts(record))
        # Indented, so that no line of it passes for one of the log's own.
        below = (f"\n    {_printable(each)}" for each in _traceback(self, record).splitlines())
        return line + "".join(below)

    def _parts(self, record: logging.LogRecord) -> Iterator[str]:
        level = record.levelname.lower().ljust(_LEVEL_WIDTH)
        yield self._in(DIM, _timestamp(record))
        yield f"[{self._in(_LEVEL_COLOURS.get(record.levelno, GREEN), level)}]"
        yield self._in(BOLD, _printable(record.getMessage()))
        yield f"[{self._in(BLUE, record.name)}]"
        for name, value in _fields(record).items():
            yield f"{self._in(CYAN, name)}={self._in(MAGENTA, _shown(value))}"

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{RESET}" if self._colours else text


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""


def _shown(value: object) -> str:
    """A text without spaces as it is, anything else as Python writes it."""
    plain = isinstance(value, str) and value and " " not in value
    return _printable(str(value) if plain else repr(value))


def _printable(text: str) -> str:
    """Texts may come from a client: none of them may end the line or command the terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
