"""A line of the log: what it holds, for machines and for people, and what no text in it can do."""

import json
import logging
import sys
from typing import Any

import pytest

from tidegate.log_lines import JsonLines, TextLines

FORMATTERS = [JsonLines(), TextLines(colours=False), TextLines(colours=True)]


def record(message: str, *arguments: object, level: int = logging.INFO, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("tidegate.test", level, "file.py", 1, message, arguments, None)
    made.created = 1_700_000_000.25
    made.__dict__.update(extra)
    return made


def failed(message: str) -> logging.LogRecord:
    made = record("it failed", level=logging.ERROR)
    try:
        raise ZeroDivisionError(message)
    except ZeroDivisionError:
        made.exc_info = sys.exc_info()
    return made


def test_json_holds_the_event_and_every_field() -> None:
    line = json.loads(JsonLines().format(record("topic %s", "orders", partitions=3, address=None)))
    assert line == {
        "event": "topic orders",
        "level": "info",
        "logger": "tidegate.test",
        "partitions": 3,
        "address": None,
        "timestamp": "2023-11-14T22:13:20.250000Z",
    }


def test_json_shows_what_json_does_not_know() -> None:
    assert json.loads(JsonLines().format(record("x", key=b"k")))["key"] == "b'k'"


def test_json_has_the_traceback_in_a_field() -> None:
    line = json.loads(JsonLines().format(failed("a bug")))
    assert line["exception"].endswith("ZeroDivisionError: a bug")


def test_text_is_time_level_event_logger_and_fields() -> None:
    line = TextLines(colours=False).format(record("topic %s", "orders", partitions=3, rack="", owner="A B", id="a"))
    assert line == (
        "2023-11-14T22:13:20.250000Z [info    ] topic orders [tidegate.test] partitions=3 rack='' owner='A B' id=a"
    )


def test_colours_tell_the_levels_apart() -> None:
    lines = {TextLines(colours=True).format(record("x", level=level)) for level in (20, 30, 40)}
    assert {line.partition(" [")[2][:5] for line in lines} == {"\x1b[32m", "\x1b[33m", "\x1b[31m"}


@pytest.mark.parametrize("formatter", FORMATTERS[:2])
def test_a_clients_text_neither_ends_the_line_nor_commands_the_terminal(formatter: logging.Formatter) -> None:
    line = formatter.format(record("closed: %s", "x\nforged\x1b[31m\u2028", client="y\r\nforged too"))
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


def test_a_traceback_stands_indented_below_its_line() -> None:
    first, *below = TextLines(colours=False).format(failed("a bug\n2023 [info] forged\x1b[2J")).splitlines()
    assert "it failed" in first
    assert all(line.startswith("    ") for line in below)
    assert "test_log_lines.py" in below[1]
    assert "\x1b" not in "".join(below)


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_logging_an_exception_that_is_none_is_a_line_without_a_traceback(formatter: logging.Formatter) -> None:
    made = record("no exception is under way")
    made.exc_info = (None, None, None)
    assert len(formatter.format(made).splitlines()) == 1
