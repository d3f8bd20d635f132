"""A record of a dead-letter topic, and the headers of what is sent in its place."""

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from coordinators.letters.fields import FIELDS, STYLES, TEXT

NAME_ENDS, NAME_BEGINS = (".dlq", "-dlq", ".dlt", "-dlt", ".DLT", "-DLT"), ("dlq.", "dlq-")
REDRIVEN = "__redriven."
"""How the headers begin that a letter's own become when it is sent again."""
RUN, SOURCE, COUNT, TIME = (f"{REDRIVEN}{name}" for name in ("run", "source", "count", "timestamp"))
TENANT = "__dlq.errors.tenant"
_STYLES = tuple(prefix for prefix, _ in STYLES)
_ASKS, _KEPT_ASKS = "tide-", ("tide-priority",)


class LetterRecord(Protocol):
    """A record with its place."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp_ms(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


def is_letters_topic(name: str) -> bool:
    """Whether a topic is by its name one for dead letters."""
    return name.endswith(NAME_ENDS) or name.startswith(NAME_BEGINS)


@frozen
class DeadLetter:
    """A record of a dead-letter topic, and what its headers say of it."""

    record: LetterRecord

    def told(self, name: str) -> str | None:
        """A field of `FIELDS`; of a header that is there twice the last counts, since that was the last time."""
        for title, kind in FIELDS[name]:
            values = [value for known, value in self.record.headers if known == title and value is not None]
            if values:
                return (
                    values[-1].decode("utf-8", "backslashreplace")
                    if kind == TEXT
                    else str(int.from_bytes(values[-1], "big"))
                )
        return None

    def number(self, name: str) -> int | None:
        """A field that is a whole number, and not a nonsense."""
        text = self.told(name)
        return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 20 else None

    @property
    def origin(self) -> str | None:
        """The topic it came from; where nobody says so, the one that its own topic is named after."""
        if (told := self.named_origin) is not None:
            return told
        topic = self.record.topic
        for end in NAME_ENDS:
            if topic.endswith(end):
                return topic.removesuffix(end)
        return next((topic.removeprefix(each) for each in NAME_BEGINS if topic.startswith(each)), None)

    @property
    def named_origin(self) -> str | None:
        """The topic that it says it came from."""
        told = self.told("origin_topic")
        return None if told is None else self._whole(told)

    @property
    def group(self) -> str | None:
        """The group that gave it up."""
        told = self.told("consumer")
        return None if told is None else self._whole(told)

    def _whole(self, name: str) -> str:
        """A name as whoever reads the letter knows it: letters of a tenant name things as its clients do, and who sees
        their topic with the prefix is none of those."""
        prefix = (self.last(TENANT) or b"").decode("utf-8", "replace") + "."
        return prefix + name if prefix != "." and self.record.topic.startswith(prefix) else name

    def last(self, name: str) -> bytes | None:
        """The last value of a header."""
        return next((value for known, value in reversed(self.record.headers) if known == name), None)

    @property
    def is_bare(self) -> bool:
        """Whether it says only where its record lies, as KIP-1191 has it where records are not copied."""
        record = self.record
        return record.key is None and record.value is None and self.number("origin_offset") is not None

    def count(self, name: str) -> int | None:
        """The last value of a header, where it is a small whole number."""
        value = self.last(name)
        return int(value) if value is not None and value.isdigit() and len(value) < 20 else None


def resent_headers(letter: DeadLetter, run: str) -> list[tuple[str, bytes | None]]:
    """The headers of the record that takes the letter's place.

    What was said of its death is kept under another name, of the last time alone. What it asked of the broker has had
    its time, but for its priority: else a record that has expired would expire again at once."""
    record, found = letter.record, list[tuple[str, bytes | None]]()
    died = dict[str, bytes | None]()
    for name, value in record.headers:
        prefix = next((each for each in _STYLES if name.startswith(each)), None)
        if prefix is not None:
            died[REDRIVEN + name.removeprefix(prefix)] = value
        elif name.startswith(_ASKS) and name not in _KEPT_ASKS:
            found.append((f"__{name}", value))
        elif not name.startswith(REDRIVEN):
            found.append((name, value))
    times = (letter.count(COUNT) or 0) + 1
    died[SOURCE] = f"{record.topic}-{record.partition}@{record.offset}".encode()
    died[RUN], died[COUNT] = run.encode(), str(times).encode()
    # The time it was first made, however often it has died.
    died[TIME] = letter.last(TIME) or died.get(TIME) or str(record.timestamp_ms).encode()
    return [*found, *died.items()]
