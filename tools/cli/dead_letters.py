"""Dead letters as the command line sees them: what their headers say, which are meant, and what is sent in their place.

Whoever wrote a letter, its headers are those of `tools/pipelines/letters.py`. Regular expressions are RE2's: one over
values that strangers have sent takes time in proportion to them, whatever it is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from tools.cli.asked import Header, as_given, header
from tools.cli.errors import CliError, UsageMistake
from tools.cli.formats import Record, field_of
from tools.cli.output import text_of
from tools.pipelines.letters import FIELDS, STYLES, TEXT

NAME_ENDS, NAME_BEGINS = (".dlq", "-dlq", ".dlt", "-dlt", ".DLT", "-DLT"), ("dlq.", "dlq-")
REDRIVEN = "__redriven."
"""How the headers begin that a letter's own become when it is sent again."""
RUN, SOURCE, COUNT, TIME = (f"{REDRIVEN}{name}" for name in ("run", "source", "count", "timestamp"))
_STYLES = tuple(prefix for prefix, _ in STYLES)
_ASKS, _KEPT_ASKS = "tide-", ("tide-priority",)
LINE_MAX_BYTES = 1 << 20


def is_letters_topic(name: str) -> bool:
    """Whether a topic is by its name one for dead letters."""
    return name.endswith(NAME_ENDS) or name.startswith(NAME_BEGINS)


@frozen
class DeadLetter:
    """A record of a dead-letter topic, and what its headers say of it."""

    record: Record

    def told(self, name: str) -> str | None:
        """A field of `FIELDS`; of a header that is there twice the last counts, since that was the last time."""
        for title, kind in FIELDS[name]:
            values = [value for known, value in self.record.headers if known == title and value is not None]
            if values:
                return text_of(values[-1]) if kind == TEXT else str(int.from_bytes(values[-1], "big"))
        return None

    def number(self, name: str) -> int | None:
        """A field that is a whole number, and not a nonsense."""
        text = self.told(name)
        return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 20 else None

    @property
    def origin(self) -> str | None:
        """The topic it came from; where nobody says so, the one that its own topic is named after."""
        if (told := self.told("origin_topic")) is not None:
            return told
        topic = self.record.topic
        for end in NAME_ENDS:
            if topic.endswith(end):
                return topic.removesuffix(end)
        return next((topic.removeprefix(each) for each in NAME_BEGINS if topic.startswith(each)), None)

    def last(self, name: str) -> bytes | None:
        """The last value of a header."""
        return next((value for known, value in reversed(self.record.headers) if known == name), None)

    @property
    def is_bare(self) -> bool:
        """Whether it says only where its record lies, as KIP-1191 has it where records are not copied."""
        record = self.record
        return record.key is None and record.value is None and self.number("origin_offset") is not None

    def as_row(self, state: str) -> dict[str, Any]:
        """For a table."""
        record = self.record
        return {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp_ms": record.timestamp_ms,
            "reason": self.told("error"),
            "origin_topic": self.origin,
            "origin_partition": self.number("origin_partition"),
            "origin_offset": self.number("origin_offset"),
            "group": self.told("consumer"),
            "deliveries": _number(self.last("__dlq.errors.delivery.count")),
            "state": state,
            **field_of("key", record.key),
            "size_bytes": len(record.value or b""),
        }


def _number(value: bytes | None) -> int | None:
    return int(value) if value is not None and value.isdigit() and len(value) < 20 else None


def expression(text: str | None) -> Any:
    """A regular expression for bytes, as RE2 has them."""
    import re2

    if text is None:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(as_given(text), options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else error.args[0]
        raise UsageMistake(f"{text!r} is no regular expression: {said}", "RE2's syntax, quoted for the shell") from None


@frozen
class LetterFilter:
    """Which letters are meant."""

    reason: Any = None
    key: Any = None
    value: Any = None
    group: str | None = None
    origin: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def takes(self, letter: DeadLetter) -> bool:
        """Whether everything that is asked for holds."""
        record = letter.record
        if self.since_ms is not None and record.timestamp_ms < self.since_ms:
            return False
        if self.until_ms is not None and record.timestamp_ms >= self.until_ms:
            return False
        if self.group is not None and letter.told("consumer") != self.group:
            return False
        if self.origin is not None and letter.origin != self.origin:
            return False
        said = f"{letter.told('error') or ''}\n{letter.told('message') or ''}".encode("utf-8", "surrogateescape")
        if not (_finds(self.reason, said) and _finds(self.key, record.key) and _finds(self.value, record.value)):
            return False
        return all(
            any(name == known and wanted in (None, value) for known, value in record.headers)
            for name, wanted in self.headers
        )


def _finds(pattern: Any, data: bytes | None) -> bool:
    return pattern is None or (data is not None and pattern.search(data) is not None)


@frozen
class Transform:
    """What is changed about the headers of a record that is sent again."""

    put: tuple[Header, ...] = ()
    removed: frozenset[str] = frozenset()

    def headers(self, letter: DeadLetter, run: str) -> list[Header]:
        """The headers of the record that takes the letter's place.

        What was said of its death is kept under another name, of the last time alone. What it asked of the broker has
        had its time, but for its priority: else a record that has expired would expire again at once."""
        record, found = letter.record, list[Header]()
        died = dict[str, bytes | None]()
        for name, value in record.headers:
            prefix = next((each for each in _STYLES if name.startswith(each)), None)
            if prefix is not None:
                died[REDRIVEN + name.removeprefix(prefix)] = value
            elif name.startswith(_ASKS) and name not in _KEPT_ASKS:
                found.append((f"__{name}", value))
            elif not name.startswith(REDRIVEN):
                found.append((name, value))
        times = (_number(letter.last(COUNT)) or 0) + 1
        died[SOURCE] = f"{record.topic}-{record.partition}@{record.offset}".encode()
        died[RUN], died[COUNT] = run.encode(), str(times).encode()
        # The time it was first made, however often it has died.
        died[TIME] = letter.last(TIME) or died.get(TIME) or str(record.timestamp_ms).encode()
        replaced = self.removed | {name for name, _ in self.put}
        return [*((name, value) for name, value in (*found, *died.items()) if name not in replaced), *self.put]


def transform(texts: Sequence[str]) -> Transform:
    """`name=value` sets a header, `-name` takes it away."""
    put, removed = list[Header](), set[str]()
    for text in texts:
        if text.startswith("-") and len(text) > 1:
            removed.add(text[1:])
        elif "=" in text:
            put.append(header(text))
        else:
            raise UsageMistake(f"{text!r} is no change of headers", "write name=value to set, -name to remove")
    if protected := sorted(removed & {RUN, SOURCE}):
        raise UsageMistake(f"{protected[0]} says where a record was sent from, and stays", "leave it out")
    return Transform(tuple(put), frozenset(removed))


@frozen
class Listed:
    """A letter on a list: where it is to go, if the list says so."""

    to: str | None = None
    partition: int | None = None


@frozen
class LetterList:
    """The letters that a list names, by topic, and by partition and offset."""

    topics: Mapping[str, Mapping[tuple[int, int], Listed]] = field(factory=dict)

    def of(self, topic: str) -> Mapping[tuple[int, int], Listed]:
        """Those of one topic."""
        return self.topics.get(topic, {})


def read_list(file: Path) -> LetterList:
    """A list as the pipeline `dead-letters` writes it, a line of JSON for each letter."""
    topics: dict[str, dict[tuple[int, int], Listed]] = {}
    for number, line in _lines(file):
        try:
            data = json.loads(line)
            place = (int(data["partition"]), int(data["offset"]))
            target, partition = data.get("to"), data.get("to_partition")
            listed = Listed(None if target is None else str(target), None if partition is None else int(partition))
            topics.setdefault(str(data["topic"]), {})[place] = listed
        except (ValueError, KeyError, TypeError, AttributeError):
            hint = 'a line is like {"topic": "orders.dlq", "partition": 0, "offset": 17, "to": "orders"}'
            raise UsageMistake(f"line {number} of {file} names no letter", hint) from None
    if not topics:
        raise UsageMistake(f"{file} names no letters", "the pipeline 'dead-letters' writes such lists")
    return LetterList(topics)


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as stream:
            number = 0
            while line := stream.readline(LINE_MAX_BYTES):
                number += 1
                if line.strip():
                    yield number, line
    except OSError as error:
        raise CliError(f"{file} cannot be read: {error.strerror}", "see --list") from None
