"""What the text door says, as bytes."""

from collections.abc import Iterable
from urllib.parse import quote_from_bytes

from wire.text.commands import BadCommand

HELD = -1
"""Told as its offset of a record that has none yet."""
PONG = b"PONG\r\n"
BYE = b"BYE\r\n"
UNRESERVED = "!$&'()*+,/:;@~"
"""Signs that stand for themselves in a value, besides letters, digits and `_.-`."""
MOST_TEXT = 500


def stored(offset: int, partition: int | None = None) -> bytes:
    """The answer to PUB."""
    return b"OK %d\r\n" % offset if partition is None else b"OK %d partition=%d\r\n" % (offset, partition)


def welcome(principal: str) -> bytes:
    """The answer to AUTH."""
    return b"OK %b\r\n" % _line(principal)


def message(offset: int, value: bytes, options: bytes = b"") -> bytes:
    """One record of an answer to FETCH."""
    return b"MSG %d %d%b\r\n%b\r\n" % (offset, len(value), options, value)


def record_options(
    partition: int, time_ms: int, key: bytes | None, headers: Iterable[tuple[str, bytes | None]], *, is_null: bool
) -> bytes:
    """What `full=true` adds to a record, as PUB would take it."""
    found = [b" partition=%d time=%d" % (partition, time_ms)]
    if key is not None:
        found.append(b" key=" + quoted(key))
    if is_null:
        found.append(b" null=true")
    found += (b" header.%b=%b" % (quoted(name.encode()), quoted(value or b"")) for name, value in headers)
    return b"".join(found)


def end(number: int) -> bytes:
    """Where to go on, or how many there were."""
    return b"END %d\r\n" % number


def topic(name: str, partitions: int) -> bytes:
    """One line of the answer to TOPICS."""
    return b"TOPIC %b %d\r\n" % (name.encode(), partitions)


def error(code: str, text: str) -> bytes:
    """A refusal, in one line whatever the sentence is made of."""
    return b"ERR %b %b\r\n" % (code.encode(), _line(text))


def refusal(bad: BadCommand) -> bytes:
    """Of a command that cannot be understood."""
    return error(bad.code, bad.text)


def quoted(value: bytes) -> bytes:
    """Any bytes as part of a line."""
    return quote_from_bytes(value, safe=UNRESERVED).encode()


def _line(text: str) -> bytes:
    return " ".join(text.split())[:MOST_TEXT].encode(errors="replace")
