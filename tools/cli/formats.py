"""Format strings for records, with the letters of kcat and rpk (`LETTERS_MEAN`)."""

import re
from collections.abc import Callable
from typing import Any

from attrs import frozen

from tools.cli.errors import UsageMistake
from tools.cli.times import moment_text

NULL = b"NULL"
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}
_TOKEN = re.compile(r"%(.?)|\\(x[0-9a-fA-F]{2}|.?)", re.DOTALL)


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


def _number(value: int) -> bytes:
    return str(value).encode()


def _size(data: bytes | None) -> bytes:
    return _number(-1 if data is None else len(data))


def _headers(record: Record) -> bytes:
    return b",".join(name.encode() + b"=" + (NULL if value is None else value) for name, value in record.headers)


_LETTERS: dict[str, Callable[[Record], bytes]] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: _number(record.partition),
    "o": lambda record: _number(record.offset),
    "k": lambda record: NULL if record.key is None else record.key,
    "s": lambda record: NULL if record.value is None else record.value,
    "v": lambda record: NULL if record.value is None else record.value,
    "K": lambda record: _size(record.key),
    "S": lambda record: _size(record.value),
    "V": lambda record: _size(record.value),
    "h": _headers,
    "H": lambda record: _number(len(record.headers)),
    "T": lambda record: _number(record.timestamp_ms),
    "d": lambda record: _number(record.timestamp_ms),
    "D": lambda record: moment_text(record.timestamp_ms).encode(),
    "%": lambda _: b"%",
}


LETTERS_MEAN = {
    "`%t` `%p` `%o`": "topic, partition, offset",
    "`%k` `%v` `%s`": "key, value (both letters); `NULL` if there is none",
    "`%K` `%V` `%S`": "length of the key, of the value (both letters); -1 if there is none",
    "`%h` `%H`": "headers as name=value,name=value; how many",
    "`%T` `%d` `%D`": "timestamp in milliseconds (both letters); as text",
    "`%%`": "a percent sign",
}
"""For the documentation."""


def compile_format(text: str) -> Callable[[Record], bytes]:
    """A function that writes a record in this format."""
    pieces: list[bytes | Callable[[Record], bytes]] = []
    position = 0
    for match in _TOKEN.finditer(text):
        pieces.append(text[position : match.start()].encode())
        pieces.append(_piece(match, text))
        position = match.end()
    pieces.append(text[position:].encode())
    return lambda record: b"".join(piece if isinstance(piece, bytes) else piece(record) for piece in pieces)


def _piece(match: "re.Match[str]", text: str) -> bytes | Callable[[Record], bytes]:
    if match.group(1) is not None:
        writer = _LETTERS.get(match.group(1))
        if writer is None:
            known = " ".join(f"%{letter}" for letter in _LETTERS)
            raise UsageMistake(f"%{match.group(1)} in the format {text!r} means nothing", f"known are {known}")
        return writer
    return unescaped(match.group(0)).encode("latin-1")


def unescaped(text: str) -> str:
    """`\\t`, `\\n`, `\\x1f` and the like, as separators are written on a command line."""

    def one(match: "re.Match[str]") -> str:
        escape = match.group(1)
        if escape.startswith("x"):
            return chr(int(escape[1:], 16))
        found = _ESCAPES.get(escape)
        return f"\\{escape}" if found is None else found.decode()

    return re.sub(r"\\(x[0-9a-fA-F]{2}|.?)", one, text, flags=re.DOTALL)


def compile_input(text: str) -> Callable[[bytes], dict[str, bytes]]:
    """A function that takes a line apart: `%k:%v` finds key and value; the parts are `k`, `v`, `p`, `T` and `h`."""
    pattern, letters = b"", []
    for piece in re.split(r"(%.)", unescaped(text)):
        letter = "v" if piece == "%s" else piece[1:] if piece.startswith("%") and len(piece) == 2 else ""
        if not letter or letter == "%":
            pattern += re.escape((letter or piece).encode())
            continue
        if letter not in "kvpTh" or letter in letters:
            raise UsageMistake(f"{piece} cannot stand in the input format {text!r}", "use each of %k %v %p %T %h once")
        letters.append(letter)
        pattern += b"(?P<%s>%s)" % (letter.encode(), b"[0-9]+" if letter in "pT" else b".*?")
    whole = re.compile(pattern, re.DOTALL)

    def take_apart(line: bytes) -> dict[str, bytes]:
        match = whole.fullmatch(line)
        if match is None:
            shown = line[:60].decode("utf-8", "backslashreplace")
            raise UsageMistake(f"the line {shown!r} is not of the format {text!r}", "see --format")
        return match.groupdict()

    return take_apart


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
    import base64

    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}
