"""What every kind of schema offers: the seam between the registry, which keeps texts, and those who know what they say.

Everything here is without I/O and without state: it may run in any thread, and long work should. What is asked of it is
bounded, whatever the text: its size, its depth, the work of comparing.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from attrs import frozen

MOST_TEXT_BYTES = 1 << 20
"""Of one schema; those that it refers to count by themselves."""
MOST_LEVELS = 100
"""Of types within types, whether written inside each other or by name."""
MOST_REFERENCES = 1_000
"""Of one schema, with those that they refer to in turn."""


class InvalidSchema(Exception):
    """The text is no schema of its kind, or one beyond the bounds; the message says why."""


class InvalidPayload(Exception):
    """Bytes that the schema does not describe; the message says what is wrong, and where."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        """The field at fault, as `order.lines[2].price`; empty for the whole."""

    def within(self, part: str) -> "InvalidPayload":
        """The same, told by whoever holds the part in which it was found."""
        separator = "." if self.path and not self.path.startswith("[") else ""
        return InvalidPayload(self.reason, f"{part}{separator}{self.path}")

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


@frozen
class ResolvedReference:
    """Another schema that a schema uses: the name by which it does, where it is registered, and what it says."""

    name: str
    subject: str
    version: int
    text: str
    references: tuple["ResolvedReference", ...] = ()


class ParsedSchema(Protocol):
    """A schema that was understood."""

    @property
    def canonical(self) -> str:
        """Two texts of which this is the same are one schema."""

    @property
    def normalized(self) -> str:
        """The same with everything put in order that means nothing."""

    def formatted(self, name: str) -> str | None:
        """The schema in another form that clients ask for by name; None where its kind has none of that name."""

    def incompatibilities(self, writer: Any, *, lenient: bool = False) -> list[str]:
        """What a reader with this schema could not read of what was written with `writer`, of the same kind. `lenient`
        is less strict where a kind has rules that are."""

    def validator(self) -> Callable[[bytes], None]:
        """What raises `InvalidPayload` unless it is given bytes that this schema describes, all of them."""

    def name_of(self, payload: bytes) -> str:
        """What the schema calls a record with this payload: subjects can be called so."""

    def to_json(self, payload: bytes) -> Any:
        """The payload for people, of what JSON can express; raises `InvalidPayload`."""

    def to_exact_json(self, payload: bytes) -> Any:
        """The payload as its kind has values in JSON: what `from_json` takes; raises `InvalidPayload`."""

    def from_json(self, value: Any) -> bytes:
        """A payload, with the numbers in front that its kind may have; raises `InvalidPayload`."""


class SchemaFormat(Protocol):
    """A kind of schema."""

    def parse(self, text: str, references: Sequence[ResolvedReference]) -> ParsedSchema:
        """Understand the text; raises `InvalidSchema`."""


def check_size(text: str) -> None:
    """Refuse a text that is too long to be looked at."""
    if len(text) > MOST_TEXT_BYTES or len(text.encode("utf-8", "surrogatepass")) > MOST_TEXT_BYTES:
        raise InvalidSchema(f"the schema is longer than {MOST_TEXT_BYTES} bytes")


def in_order(references: Sequence[ResolvedReference]) -> list[ResolvedReference]:
    """These and all that they refer to, each once, those first that others need."""
    ordered: list[ResolvedReference] = []
    seen: set[tuple[str, str, int]] = set()
    # Depth first without recursion: a reference is put down when all of its own have been.
    waiting = [(reference, False) for reference in reversed(references)]
    while waiting:
        reference, is_entered = waiting.pop()
        place = (reference.name, reference.subject, reference.version)
        if is_entered:
            ordered.append(reference)
        elif place not in seen:
            seen.add(place)
            if len(seen) > MOST_REFERENCES:
                raise InvalidSchema(f"more than {MOST_REFERENCES} references")
            waiting.append((reference, True))
            waiting.extend((inner, False) for inner in reversed(reference.references))
    return ordered
