"""Dead letters as the command line sees them: what their headers say, which are meant, and what is sent in their place.

Whoever wrote a letter, its headers are those of `tools/pipelines/letters.py`. Regular expressions are RE2's: one over
values that strangers have sent takes time in proportion to them, whatever it is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from coordinators.letters import letter as letters
from coordinators.letters.letter import RUN, SOURCE
from coordinators.letters.letter import is_letters_topic as is_letters_topic
from tools.cli.asked import Header, as_given, header
from tools.cli.errors import CliError, UsageMistake
from tools.cli.formats import Record, field_of

LINE_MAX_BYTES = 1 << 20


@frozen
class DeadLetter(letters.DeadLetter):
    """The same, for a table."""

    record: Record

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
            "group": self.group,
            "deliveries": self.count("__dlq.errors.delivery.count"),
            "state": state,
            **field_of("key", record.key),
            "size_bytes": len(record.value or b""),
        }


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
        if self.group is not None and letter.group != self.group:
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
        """The headers of the record that takes the letter's place."""
        replaced = self.removed | {name for name, _ in self.put}
        kept = letters.resent_headers(letter, run)
        return [*((name, value) for name, value in kept if name not in replaced), *self.put]


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
