"""Which records a reader wants, in words: `key = user1 and header.type != test and value.order.state ^= open`.

    filter     = condition { " and " condition }
    condition  = field operator text          one word, or text in "double quotes" as JSON has it
    field      = "key" | "value" | "value." member { "." member } | "header." name
    operator   = "=" equal | "!=" not equal | "^=" begins with | "*=" contains

A filter is read into comparisons; nothing of it is ever evaluated. A field that a record has not equals nothing.
"""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import msgspec
from attrs import frozen

from wire.http.problems import Problem
from wire.inner.records import ReadRecord

MOST_CONDITIONS = 16
MOST_CHARACTERS = 1_000
PARSED_BYTES_MAX = 256 * 1024
"""Of values in whose members somebody is interested; those of larger ones are not looked for."""

_CONDITION = re.compile(
    r"\s*(key|value(?:\.[^\s=!^*.]{1,100}){0,10}|header\.[^\s=!^*]{1,200})\s*(=|!=|\^=|\*=)\s*"
    r'("(?:[^"\\]|\\.)*"|[^\s"]+)\s*'
)
_AND = re.compile(r"and\s")

_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "=": str.__eq__,
    "!=": str.__ne__,
    "^=": str.startswith,
    "*=": str.__contains__,
}


@frozen
class RecordCondition:
    """One comparison."""

    field: str
    operator: str
    text: str

    def holds(self, record: ReadRecord) -> bool:
        """Whether a record has it."""
        found = _field(record, self.field)
        if found is None:
            return self.operator == "!="
        return _OPERATORS[self.operator](found, self.text)


@frozen
class RecordFilter:
    """Comparisons that must all hold."""

    conditions: tuple[RecordCondition, ...]

    def holds(self, record: ReadRecord) -> bool:
        """Whether the reader wants it."""
        return all(condition.holds(record) for condition in self.conditions)


def parse_filter(text: str) -> RecordFilter:
    """What a reader says; a `Problem` if it says nothing that is understood."""
    if len(text) > MOST_CHARACTERS:
        raise _wrong(f"a filter has at most {MOST_CHARACTERS} characters")
    conditions: list[RecordCondition] = []
    position = 0
    while True:
        matched = _CONDITION.match(text, position)
        if matched is None:
            raise _wrong(f"the filter is not understood from {text[position : position + 40]!r} on")
        conditions.append(RecordCondition(matched[1], matched[2], _text(matched[3])))
        position = matched.end()
        if position == len(text):
            break
        follows = _AND.match(text, position)
        if follows is None or len(conditions) >= MOST_CONDITIONS:
            raise _wrong(f"the filter is not understood from {text[position : position + 40]!r} on")
        position = follows.end()
    return RecordFilter(tuple(conditions))


def _text(written: str) -> str:
    if not written.startswith('"'):
        return written
    try:
        return msgspec.json.decode(written, type=str)
    except msgspec.DecodeError:
        raise _wrong(f"{written} is no text in quotes as JSON has it") from None


def _field(record: ReadRecord, name: str) -> str | None:
    if name == "key":
        return _decoded(record.key)
    if name == "value":
        return _decoded(record.value)
    if name.startswith("header."):
        wanted = name.removeprefix("header.")
        values = [value for header, value in record.headers if header == wanted]
        return _decoded(values[-1]) if values else None
    return _member(record.value, name.split(".")[1:])


def _member(value: bytes | None, path: list[str]) -> str | None:
    if value is None or len(value) > PARSED_BYTES_MAX:
        return None
    try:
        found: Any = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _wrong(detail: str) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{detail}; like: key = user1 and header.type != test")
