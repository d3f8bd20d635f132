r"""Format strings for records, with the letters of kcat and rpk (`LETTERS_MEAN`) and rpk's modifiers in braces.

`%p %o %k: %v\n`, `%v{hex}`, `%d{strftime[%H:%M]}`, `%h{%k is %v; }`, `%V{big32}%v`.
"""

import base64
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

from attrs import frozen

from tools.cli.errors import UsageMistake
from tools.cli.times import moment_text

NULL = b"NULL"
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.?)", re.DOTALL)
_INTEGER = re.compile("(hex|big|little)(8|16|32|64)")
_STRFTIME = re.compile(r"strftime\[(.*)\]", re.DOTALL)


@frozen
class Record:
    """A record as it is printed."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


Write = Callable[[Record], bytes]
_TEXTS: dict[str, Callable[[Record], bytes | None]] = {
    "t": lambda record: record.topic.encode(),
    "k": lambda record: record.key,
    "v": lambda record: record.value,
    "s": lambda record: record.value,
}
_NUMBERS: dict[str, Callable[[Record], int]] = {
    "p": lambda record: record.partition,
    "o": lambda record: record.offset,
    "K": lambda record: _size(record.key),
    "V": lambda record: _size(record.value),
    "S": lambda record: _size(record.value),
    "H": lambda record: len(record.headers),
    "T": lambda record: record.timestamp_ms,
    "d": lambda record: record.timestamp_ms,
}
LETTERS_MEAN = {
    "`%t` `%p` `%o`": "topic, partition, offset",
    "`%k` `%v` `%s`": "key, value (both letters); `NULL` if there is none",
    "`%K` `%V` `%S`": "length of the key, of the value (both letters); -1 if there is none",
    "`%h` `%H`": "headers as name=value,name=value; how many",
    "`%T` `%d` `%D`": "timestamp in milliseconds (both letters); as text",
    "`%R` `%i`": "length of the value as four bytes, for programs; number of the record, from 1",
    "`%%`": "a percent sign",
    "`%v{hex}` `%v{base64}` `%v{json}`": "key, value or topic written so; `json` is a JSON string",
    "`%h{%k is %v; }`": "each header by a format of its own: `%k` its name, `%v` its value",
    "`%d{strftime[%H:%M]}`": "the timestamp, in UTC, as strftime writes it",
    "`%V{big32}` `%o{hex64}`": "a number as bytes (`big` or `little`) or digits (`hex`), of 8, 16, 32 or 64 bits",
}
"""For the documentation."""
LETTERS = "%t %p %o %k %v %s %K %V %S %h %H %T %d %D %R %i %%"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def compile_format(text: str) -> Write:
    """A function that writes a record in this format."""
    pieces: list[bytes | Write] = []
    rest = text
    while rest:
        literal, percent, rest = rest.partition("%")
        pieces.append(as_bytes(literal))
        if percent:
            letter, modifier, rest = _taken(rest, text)
            pieces.append(_piece(letter, modifier, text))
    return lambda record: b"".join(piece if isinstance(piece, bytes) else piece(record) for piece in pieces)


def _taken(rest: str, whole: str) -> tuple[str, str | None, str]:
    """The letter, what stands in braces behind it, and what follows."""
    letter, rest = rest[:1], rest[1:]
    if not rest.startswith("{") or letter == "%":
        return letter, None, rest
    depth = 0
    for place, each in enumerate(rest):
        depth += (each == "{") - (each == "}")
        if depth == 0:
            return letter, rest[1:place], rest[place + 1 :]
    raise UsageMistake(f"a brace is not closed in the format {whole!r}", "write it like %v{hex}")


def _piece(letter: str, modifier: str | None, whole: str) -> bytes | Write:
    written: bytes | Write | None = None
    if letter in _TEXTS and letter:
        written = _text_writer(_TEXTS[letter], modifier)
    elif letter in _NUMBERS and letter:
        written = _number_writer(_NUMBERS[letter], modifier, is_time=letter in "Td")
    elif letter == "h":
        written = _headers_writer(modifier)
    elif modifier is None:
        written = _simple(letter)
    if written is None:
        shown = f"%{letter}" + ("" if modifier is None else f"{{{modifier}}}")
        raise UsageMistake(f"{shown} in the format {whole!r} means nothing", f"known are {LETTERS}; see docs/cli.md")
    return written


def _simple(letter: str) -> bytes | Write | None:
    if letter == "%":
        return b"%"
    if letter == "D":
        return lambda record: moment_text(record.timestamp_ms).encode()
    if letter == "R":
        return lambda record: _size(record.value).to_bytes(4, "big", signed=True)
    if letter == "i":
        numbers = count(1)
        return lambda _: b"%d" % next(numbers)
    return None


def _text_writer(read: Callable[[Record], bytes | None], modifier: str | None) -> Write | None:
    encode = text_encoder(modifier)
    if encode is None:
        return None

    def write(record: Record) -> bytes:
        data = read(record)
        if data is None:
            return b"null" if modifier == "json" else NULL
        return encode(data)

    return write


def text_encoder(modifier: str | None) -> Callable[[bytes], bytes] | None:
    """How bytes are written by a modifier."""
    encoders: dict[str | None, Callable[[bytes], bytes]] = {
        None: lambda data: data,
        "hex": lambda data: data.hex().encode(),
        "base64": base64.b64encode,
        "json": lambda data: json.dumps(data.decode("utf-8", "backslashreplace"), ensure_ascii=False).encode(),
    }
    return encoders.get(modifier)


def _number_writer(read: Callable[[Record], int], modifier: str | None, *, is_time: bool) -> Write | None:
    if modifier in (None, "ascii"):
        return lambda record: b"%d" % read(record)
    assert modifier is not None
    if is_time and (match := _STRFTIME.fullmatch(modifier)):
        form = match.group(1)
        return lambda record: _strftime(read(record), form)
    if match := _INTEGER.fullmatch(modifier):
        kind, size = match.group(1), int(match.group(2)) // 8

        def write(record: Record) -> bytes:
            # Like a cast in C: what does not fit loses its upper bits.
            number = read(record) % (1 << 8 * size)
            packed = number.to_bytes(size, "little" if kind == "little" else "big")
            return packed.hex().encode() if kind == "hex" else packed

        return write
    return None


def _strftime(time_ms: int, form: str) -> bytes:
    try:
        return datetime.fromtimestamp(time_ms / 1_000, UTC).strftime(form).encode()
    except (ValueError, OverflowError, OSError):
        return moment_text(time_ms).encode()


def _headers_writer(modifier: str | None) -> Write:
    if modifier is None:
        return lambda record: b",".join(
            name.encode() + b"=" + (NULL if value is None else value) for name, value in record.headers
        )
    write = compile_format(modifier)

    def write_all(record: Record) -> bytes:
        # A header is written like a record that has nothing but a key and a value.
        each = (Record(record.topic, -1, -1, -1, name.encode(), value) for name, value in record.headers)
        return b"".join(map(write, each))

    return write_all


def unescaped(text: str) -> str:
    """`\\t`, `\\n`, `\\x1f` and the like, as separators are written on a command line."""

    def one(match: "re.Match[str]") -> str:
        escape = match.group(1)
        if escape.startswith("x") and len(escape) == 3:
            return chr(int(escape[1:], 16))
        return _ESCAPES.get(escape, f"\\{escape}")

    return _ESCAPE.sub(one, text)


def as_bytes(text: str) -> bytes:
    r"""The text in UTF-8, with `\n` and the like; `\xff` is that byte."""
    parts, place = [], 0
    for match in _ESCAPE.finditer(text):
        parts += [text[place : match.start()].encode("utf-8", "surrogateescape"), _escape(match.group(0))]
        place = match.end()
    return b"".join([*parts, text[place:].encode("utf-8", "surrogateescape")])


def _escape(text: str) -> bytes:
    found = unescaped(text)
    return found.encode("latin-1") if len(found) == 1 else found.encode()


def as_data(record: Record) -> dict[str, Any]:
    """A record in plain values; bytes that are no text are in a field with `_base64` at its end."""
    data: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        **field_of("key", record.key),
        **field_of("value", record.value),
    }
    data["headers"] = [{"name": name, **field_of("value", value)} for name, value in record.headers]
    return data


def field_of(name: str, data: bytes | None) -> dict[str, Any]:
    """Bytes as text if they are text, else in base64."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}
