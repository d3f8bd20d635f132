"""What a line of the text door asks for: the grammar of docs/text.md, one function for each command.

Words are parted by spaces. Behind those that a command must have stand options, `name=value` in any order; `%20`
stands for a space in a value, as in addresses of the web, so that keys and headers may be any bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from attrs import define, field, frozen

from wire.text.config import TextLimits

MOST_FETCHED = 10_000
MOST_OFFSET = 2**63 - 1
MOST_PARTITION = 2**31 - 1
PRIORITIES = (b"critical", b"high", b"normal", b"low", b"background", b"0", b"1", b"2", b"3", b"4")
EARLIEST, LATEST = -2, -1
"""Offsets by name, numbered as Kafka does."""
OFFSETS = {b"earliest": EARLIEST, b"latest": LATEST}

Header = tuple[str, bytes]


class BadCommand(Exception):
    """A command that is not carried out; `code` is told with the sentence. Behind one that `ends` the connection
    nobody knows where the next would begin."""

    def __init__(self, code: str, text: str, *, ends: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.ends = ends


@define
class PublishCommand:
    """PUB, before and with its payload."""

    topic: str
    size: int
    key: bytes | None = None
    partition: int | None = None
    headers: tuple[Header, ...] = ()
    is_null: bool = False
    is_full: bool = False
    """Whether the answer is to name the partition."""
    payload: bytes = field(default=b"", init=False, repr=False)


@frozen
class FetchCommand:
    """FETCH; the offset is `EARLIEST` or `LATEST` where it was a word."""

    topic: str
    offset: int
    partition: int = 0
    count: int = 1
    wait_ms: int = 0
    is_full: bool = False
    """Whether keys, headers and times are told too."""


@frozen
class AuthCommand:
    """AUTH with a user's name and password, or with a token."""

    user: str | None
    secret: str = field(repr=False)


@frozen
class TopicsCommand:
    """TOPICS."""


@frozen
class PingCommand:
    """PING."""


@frozen
class QuitCommand:
    """QUIT."""


Command = PublishCommand | FetchCommand | AuthCommand | TopicsCommand | PingCommand | QuitCommand


def parse(line: bytes, limits: TextLimits) -> Command:
    """What a line asks for; `BadCommand` if nothing that there is."""
    words = line.split()
    if not words:
        raise BadCommand("BAD_COMMAND", f"an empty line: a command begins with one of {_KNOWN}")
    read = _READERS.get(words[0].upper())
    if read is None:
        name = words[0][:20].decode(errors="replace")
        raise BadCommand("BAD_COMMAND", f"there is no command {name!r}: there are {_KNOWN}")
    return read(words, limits)


def announced_size(line: bytes, limits: TextLimits) -> int | None:
    """How many bytes of payload follow a line whatever else is wrong with it; None if that cannot be known."""
    words = line.split()
    if len(words) < 3 or words[0].upper() != b"PUB" or not words[2].isdigit() or len(words[2]) > 10:
        return None
    size = int(words[2])
    return size if size <= limits.max_payload_bytes else None


# -- one for each command


def _publish(words: Sequence[bytes], limits: TextLimits) -> PublishCommand:
    if len(words) < 3:
        raise BadCommand("BAD_ARGUMENT", "PUB needs a topic and the payload's size: PUB <topic> <size>", ends=True)
    topic, size = _text(words[1], "the topic"), _size(words[2], limits)
    if len(words) == 3:
        return PublishCommand(topic, size)
    key, partition, headers, flags = None, None, [], {b"null": False, b"full": False}
    for name, value in map(_option, words[3:]):
        if name == b"key":
            key = _bytes(value)
        elif name == b"partition":
            partition = _number(name, value, MOST_PARTITION)
        elif name in flags:
            flags[name] = _flag(name, value)
        else:
            headers.append(_header(name, value))
    if flags[b"null"] and size:
        raise BadCommand("BAD_ARGUMENT", "a record with null=true has no value, so its size must be 0")
    return PublishCommand(topic, size, key, partition, tuple(headers), flags[b"null"], flags[b"full"])


def _header(name: bytes, value: bytes) -> Header:
    """A header of the record: one that asks the broker for something has a name of its own."""
    if name.startswith(b"header.") and len(name) > len(b"header."):
        return _text(_bytes(name[len(b"header.") :]), "the header's name"), _bytes(value)
    found = _ASKING.get(name)
    if found is None:
        shown = name[:20].decode(errors="replace")
        raise BadCommand(
            "BAD_ARGUMENT",
            f"PUB has no option {shown!r}: it has key, partition, delay, deliver-at, priority, ttl, schedule-id, null, "
            f"full and header.NAME",
        )
    header, check = found
    check(name, value)
    return header, _bytes(value)


def _fetch(words: Sequence[bytes], limits: TextLimits) -> FetchCommand:
    if len(words) < 3:
        raise BadCommand("BAD_ARGUMENT", "FETCH needs a topic and an offset: FETCH <topic> <offset>")
    topic, offset = _text(words[1], "the topic"), OFFSETS.get(words[2].lower())
    if offset is None:
        offset = _number(b"offset", words[2], MOST_OFFSET)
    most = {b"partition": MOST_PARTITION, b"count": MOST_FETCHED, b"wait": limits.max_wait_ms}
    given: dict[bytes, int] = {}
    is_full = False
    for name, value in map(_option, words[3:]):
        if name == b"full":
            is_full = _flag(name, value)
        elif name in most:
            given[name] = _number(name, value, most[name], at_least=1 if name == b"count" else 0)
        else:
            shown = name[:20].decode(errors="replace")
            raise BadCommand("BAD_ARGUMENT", f"FETCH has no option {shown!r}: it has partition, count, wait and full")
    partition, count, wait_ms = given.get(b"partition", 0), given.get(b"count", 1), given.get(b"wait", 0)
    return FetchCommand(topic, offset, partition, count, wait_ms, is_full)


def _authenticate(words: Sequence[bytes], _: TextLimits) -> AuthCommand:
    if len(words) == 2:
        return AuthCommand(None, _text(words[1], "the token"))
    if len(words) == 3:
        return AuthCommand(_text(_bytes(words[1]), "the user"), _text(_bytes(words[2]), "the password"))
    raise BadCommand("BAD_ARGUMENT", "AUTH takes a user's name and password, or a token")


def _alone(command: Command) -> "Reader":
    def read(words: Sequence[bytes], _: TextLimits) -> Command:
        if len(words) > 1:
            raise BadCommand("BAD_ARGUMENT", f"{words[0].upper().decode()} takes nothing behind it")
        return command

    return read


# -- parts of lines


def _size(word: bytes, limits: TextLimits) -> int:
    if not word.isdigit() or len(word) > 10:
        raise BadCommand("BAD_ARGUMENT", "the size of a payload is a number of bytes", ends=True)
    size = int(word)
    if size > limits.max_payload_bytes:
        most = limits.max_payload_bytes
        raise BadCommand("PAYLOAD_TOO_LARGE", f"a payload has at most text.max.payload.bytes={most}", ends=True)
    return size


def _option(word: bytes) -> tuple[bytes, bytes]:
    name, equals, value = word.partition(b"=")
    if not equals:
        shown = word[:20].decode(errors="replace")
        raise BadCommand("BAD_ARGUMENT", f"{shown!r} is no option of the form name=value")
    return name, value


def _number(name: bytes, value: bytes, most: int, *, at_least: int = 0) -> int:
    number = int(value) if value.isdigit() and len(value) <= 19 else -1
    if not at_least <= number <= most:
        raise BadCommand("BAD_ARGUMENT", f"{name.decode()} is a number from {at_least} to {most}")
    return number


def _time(name: bytes, value: bytes) -> None:
    _number(name, value, MOST_OFFSET)


def _priority(_: bytes, value: bytes) -> None:
    if value not in PRIORITIES:
        raise BadCommand("BAD_ARGUMENT", "priority is critical, high, normal, low, background, or 0 to 4")


def _anything(_: bytes, value: bytes) -> None:
    if not value:
        raise BadCommand("BAD_ARGUMENT", "an id may not be empty")


def _flag(name: bytes, value: bytes) -> bool:
    if value not in (b"true", b"false"):
        raise BadCommand("BAD_ARGUMENT", f"{name.decode()} is true or false")
    return value == b"true"


def _bytes(value: bytes) -> bytes:
    return unquote_to_bytes(value) if b"%" in value else value


def _text(word: bytes, what: str) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise BadCommand("BAD_ARGUMENT", f"{what} is not UTF-8") from None


Reader = Callable[[Sequence[bytes], TextLimits], Command]

_ASKING: Mapping[bytes, tuple[str, Callable[[bytes, bytes], None]]] = {
    b"delay": ("tide-delay", _time),
    b"deliver-at": ("tide-deliver-at", _time),
    b"ttl": ("tide-ttl", _time),
    b"priority": ("tide-priority", _priority),
    b"schedule-id": ("tide-schedule-id", _anything),
}
_READERS: Mapping[bytes, Reader] = {
    b"PUB": _publish,
    b"FETCH": _fetch,
    b"TOPICS": _alone(TopicsCommand()),
    b"AUTH": _authenticate,
    b"PING": _alone(PingCommand()),
    b"QUIT": _alone(QuitCommand()),
}
_KNOWN = ", ".join(name.decode() for name in _READERS)
