"""What a command prints: tables for people, JSON and YAML for programs.

A table is drawn for a terminal; elsewhere it is plain text of any width. What clients chose (names, keys, values) never
steers the terminal, and never begins a line of its own, which could pass for a row: control characters are shown, not
sent.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any

from attrs import frozen

Row = Mapping[str, Any]
# Control characters above ASCII's, and those that turn the direction of writing.
_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@frozen
class Column:
    """A column of a table: the field it shows, its head, how its value is written."""

    field: str
    head: str = ""
    text: Callable[[Any], str] | None = None
    right: bool = False

    def show(self, row: Row) -> str:
        value = row.get(self.field)
        return printable(self.text(value) if self.text is not None else plain(value))


@frozen
class Output:
    """Prints results in one format. `stdout` takes what the user asked for, `stderr` what is said beside it."""

    format: Format = Format.TABLE

    @property
    def is_for_people(self) -> bool:
        """Whether a person reads this."""
        return self.format is Format.TABLE

    def rows(self, rows: Iterable[Row], columns: Sequence[Column], *, empty: str = "nothing there") -> None:
        """A list of things."""
        found = list(rows)
        if not self.is_for_people:
            self.value(found)
        elif found:
            _draw(found, columns)
        else:
            self.note(empty)

    def fields(self, row: Row, columns: Sequence[Column]) -> None:
        """One thing, a line for each field."""
        if not self.is_for_people:
            self.value(row)
            return
        width = max(len(column.head or column.field) for column in columns)
        for column in columns:
            _write(f"{(column.head or column.field).ljust(width)}  {column.show(row)}\n")

    def value(self, value: Any) -> None:
        """A value in a format for programs."""
        if self.format is Format.YAML:
            import yaml

            _write(yaml.safe_dump(_plain_data(value), sort_keys=False, allow_unicode=True))
        else:
            _write(_json(value, indent=2) + "\n")

    def one(self, value: Any) -> None:
        """One of many that come one after the other: a line of JSON, a document of YAML."""
        if self.format is Format.YAML:
            import yaml

            text = yaml.safe_dump(_plain_data(value), sort_keys=False, allow_unicode=True, explicit_start=True)
        else:
            text = _json(value) + "\n"
        # Whoever prints many of them flushes when it is time.
        sys.stdout.write(text)

    def done(self, text: str, **facts: Any) -> None:
        """That something was done: a sentence for people, the facts for programs."""
        if self.is_for_people:
            _write(printable(text) + "\n")
        else:
            self.value(facts)

    def heading(self, text: str) -> None:
        """A line above a table, for people alone; line feeds at its ends make room, others are shown."""
        if self.is_for_people:
            line = text.strip("\n")
            before, after = text.partition(line)[::2] if line else (text, "")
            _write(f"{before}{printable(line)}{after}\n")

    def note(self, text: str) -> None:
        """Something beside the result, on standard error."""
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()


def plain(value: Any) -> str:
    """A value in a cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | tuple | set):
        return ",".join(plain(each) for each in value)
    return str(value)


def printable(text: str, *, keeps_lines: bool = False) -> str:
    """The text without anything that could steer a terminal, in one line unless it may have several."""
    if text.isprintable():
        return text
    kept = "\n" if keeps_lines else ""
    return "".join(letter if letter.isprintable() or letter == kept else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def text_of(data: bytes | None) -> str | None:
    """Bytes as text, with what is no UTF-8 as `\\xNN`."""
    return None if data is None else data.decode("utf-8", "backslashreplace")


def size_text(size: Any) -> str:
    """Bytes in the unit that reads best."""
    if size is None:
        return "-"
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _json(value: Any, indent: int | None = None) -> str:
    """JSON that is read on a terminal too: what could steer it, and JSON allows in a text, is written by its number."""
    text = json.dumps(_plain_data(value), indent=indent, ensure_ascii=False)
    return _STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _plain_data(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain_data(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain_data(each) for each in value]
    if isinstance(value, bytes):
        return text_of(value)
    return value.value if isinstance(value, Enum) else value


FOLDED_WIDTH_MIN = 24
"""A column that is folded to fewer letters cannot be read."""
_BETWEEN = "   "


def _draw(rows: Sequence[Row], columns: Sequence[Column]) -> None:
    """A table. Not by rich: that takes a second for a thousand rows, and a command longer to start."""
    from rich.cells import cell_len

    cells = [[column.show(row) for column in columns] for row in rows]
    heads = [column.head or column.field for column in columns]
    widths = [max(map(cell_len, texts)) for texts in zip(heads, *cells, strict=True)]
    is_terminal = _is_terminal()
    # Elsewhere than on a terminal nothing is cut or folded: the next program takes it apart.
    whole = sum(widths) + len(_BETWEEN) * (len(widths) - 1)
    excess = whole - shutil.get_terminal_size().columns if is_terminal else 0
    if excess > 0:
        widest = widths.index(max(widths))
        widths[widest] -= excess
        if widths[widest] < FOLDED_WIDTH_MIN:
            _draw_blocks(cells, heads)
            return
    are_right = [column.right for column in columns]
    bold = ("\x1b[1m", "\x1b[0m") if is_terminal and not os.environ.get("NO_COLOR") else ("", "")
    lines = [bold[0] + line + bold[1] for line in _lines(heads, widths, are_right)]
    lines.append("─" * min(whole, sum(widths) + len(_BETWEEN) * (len(widths) - 1)))
    for row in cells:
        lines += _lines(row, widths, are_right)
    _write("\n".join(lines) + "\n")


def _is_terminal() -> bool:
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def _lines(texts: Sequence[str], widths: Sequence[int], are_right: Sequence[bool]) -> list[str]:
    """A row, in as many lines as its longest text needs."""
    from rich.cells import cell_len

    parts = [_folded(text, width) for text, width in zip(texts, widths, strict=True)]
    lines = []
    for number in range(max(map(len, parts))):
        line = []
        for part, width, is_right in zip(parts, widths, are_right, strict=True):
            text = part[number] if number < len(part) else ""
            space = " " * (width - cell_len(text))
            line.append(space + text if is_right else text + space)
        lines.append(_BETWEEN.join(line).rstrip())
    return lines


def _folded(text: str, width: int) -> list[str]:
    """A text in pieces of this width, between words where that can be."""
    from rich.cells import cell_len, chop_cells

    pieces = []
    while cell_len(text) > width:
        piece = chop_cells(text, width)[0]
        space = piece.rfind(" ", 1)
        if space > 0 and not text[len(piece) :].startswith(" "):
            piece = piece[: space + 1]
        pieces.append(piece.rstrip())
        text = text[len(piece) :].lstrip()
    return [*pieces, text]


def _draw_blocks(cells: Sequence[Sequence[str]], heads: Sequence[str]) -> None:
    """A line for each field, where the terminal is too narrow for a table."""
    width = max(map(len, heads))
    blocks = ("".join(f"{head.ljust(width)}  {text}\n" for head, text in zip(heads, row, strict=True)) for row in cells)
    _write("\n".join(blocks))


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
