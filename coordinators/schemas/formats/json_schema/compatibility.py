"""Whether whatever one JSON Schema lets through is let through by another, by the rules that Confluent's registry has.

The one exception to "lets through": a property that the reader newly requires may be missing if it has a default. What
a schema says of additional properties decides what may be added: to an open model (anything may be there) nothing but
what says nothing, since anything may have been there already. `lenient` waives that.

Parts of schemas that are being compared count as compatible, so that schemas which refer to themselves come to an end.
The work is bounded: schemas that would take more are called incompatible, with that reason.
"""

from collections.abc import Hashable, Iterator
from typing import Any

from attrs import define, field

from coordinators.schemas.formats.json_schema.arrays import compare_items
from coordinators.schemas.formats.json_schema.constraints import Condition, Constraints, TooIntertwined, constraints
from coordinators.schemas.formats.json_schema.documents import JsonDocuments
from coordinators.schemas.formats.json_schema.limits import limit_complaints, type_complaints, types
from coordinators.schemas.formats.json_schema.objects import compare_properties
from coordinators.schemas.formats.json_schema.shape import Node

MOST_COMPARISONS = 20_000
MOST_REASONS = 100
MOST_CHOICES_COMPARED = 200_000
"""Of those to choose from, arrays and objects with what the writer may write: they can only be tried one by one."""
MOST_MATCHES = 20_000
"""Of names of properties with patterns."""


@define(eq=False)
class JsonComparison:
    """The comparison of two schemas."""

    reader: JsonDocuments
    writer: JsonDocuments
    is_lenient: bool = False
    _found: dict[tuple[int, int], list[str]] = field(factory=dict, init=False)
    _kept: list[Any] = field(factory=list, init=False)
    """What is known by its identity must not go away."""
    _steps: int = field(default=0, init=False)
    _matches: int = field(default=0, init=False)

    def incompatibilities(self) -> list[str]:
        """What the reader does not take of the writer's."""
        try:
            return self.compare(self.reader.root, self.writer.root, "#")
        except (TooIntertwined, RecursionError):
            return ["TOO_COMPLEX: the two schemas are too intertwined to be compared"]

    def compare(self, reader: Node, writer: Node, path: str) -> list[str]:
        """The same of parts of the two."""
        if reader is True or reader == {} or writer is False:
            return []
        pair = (id(reader), id(writer))
        if pair in self._found:
            return self._found[pair]
        self._steps += 1
        if self._steps > MOST_COMPARISONS:
            raise TooIntertwined
        self._kept.append((reader, writer))
        self._found[pair] = []
        wanted, given = constraints(reader, self.reader), constraints(writer, self.writer)
        reasons = self._found[pair] = list(self._judge(wanted, given, writer, path))[:MOST_REASONS]
        return reasons

    def match(self, patterns: int) -> None:
        """So many patterns are about to be held against a name."""
        self._matches += patterns
        if self._matches > MOST_MATCHES:
            raise TooIntertwined

    def _judge(self, wanted: Constraints, given: Constraints, writer: Node, path: str) -> Iterator[str]:
        if given.is_never:
            return
        if wanted.is_never:
            yield f"TYPE_NARROWED at {path}: the reader takes nothing here"
            return
        for plain in wanted.plain:
            yield from self._least(self._plain_ways(plain, given, path))
        for kind, branches in wanted.sums:
            yield from self._sum(kind, branches, given, writer, path)
        for choices in wanted.choices:
            yield from _choices(choices, given, path)
        for exclusion in wanted.exclusions:
            if not any(not self._swapped().compare(old, exclusion, path) for old in given.exclusions):
                yield f"NOT_TYPE_EXTENDED at {path}/not: the reader excludes what the writer does not"
        for condition in wanted.conditions:
            if not any(self._holds(condition, old, path) for old in given.conditions):
                yield f"CONDITION_CHANGED at {path}/if: the reader has a condition that the writer has not"

    def _swapped(self) -> "JsonComparison":
        """What one excludes must be excluded by the other: the other way round."""
        swapped = JsonComparison(self.writer, self.reader, self.is_lenient)
        swapped._steps, swapped._matches = self._steps + 1, self._matches
        return swapped

    @staticmethod
    def _least(ways: Iterator[list[str]]) -> list[str]:
        """Nothing if one of the ways is without complaint; else what the first has."""
        first: list[str] | None = None
        for way in ways:
            if not way:
                return []
            first = first or way
        return first or []

    # -- plain keywords

    def _plain_ways(self, plain: dict[str, Any], given: Constraints, path: str) -> Iterator[list[str]]:
        """Whatever the writer demands, one of its constraints has to see to what the reader demands."""
        for old in given.plain:
            yield list(self._plain(plain, _narrowed(old, given.choices), path))
        for _, branches in given.sums:
            reasons: list[str] = []
            for branch in branches:
                reasons += self.compare(plain, branch, path)
            yield reasons
        if not given.plain:
            yield list(self._plain(plain, _narrowed({}, given.choices), path))

    def _plain(self, reader: dict[str, Any], writer: dict[str, Any], path: str) -> Iterator[str]:
        read, written = types(reader), types(writer)
        complaints = list(type_complaints(read, written))
        if complaints:
            said, was = reader.get("type", "any"), writer.get("type", "any")
            yield f"{complaints[0]} at {path}: the reader takes {_words(said)}, the writer may write {_words(was)}"
            return
        kinds = written & {"string", "array", "object"} | ({"number"} if written & {"number", "integer"} else set())
        for kind in sorted(kinds):
            for complaint in limit_complaints(kind, reader, writer):
                yield f"{complaint} at {path}"
        if "object" in kinds:
            yield from compare_properties(self, reader, writer, path)
        if "array" in kinds:
            yield from compare_items(self, reader, writer, path)

    # -- the rest

    def _sum(self, kind: str, branches: list[Node], given: Constraints, writer: Node, path: str) -> Iterator[str]:
        """Every branch of one of the writer's sums goes into a branch of the reader's; or all of the writer's does."""
        where = [(branch, f"{path}/{kind}/{number}") for number, branch in enumerate(branches)]
        for way in ([writer], *(old for _, old in given.sums)):
            if all(any(not self.compare(branch, old, there) for branch, there in where) for old in way):
                return
        word = "SUM_TYPE_NARROWED" if given.sums else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
        yield f"{word} at {path}/{kind}: none of the reader's alternatives takes all that the writer may write"

    def _holds(self, condition: Condition, old: Condition, path: str) -> bool:
        return (
            condition.test == old.test
            and not self.compare(condition.then, old.then, f"{path}/then")
            and not self.compare(condition.otherwise, old.otherwise, f"{path}/else")
        )


def _choices(choices: list[Any], given: Constraints, path: str) -> Iterator[str]:
    plain = {value for value in choices if isinstance(value, Hashable)}
    others = [value for value in choices if not isinstance(value, Hashable)]
    if len(others) * sum(map(len, given.choices)) > MOST_CHOICES_COMPARED:
        raise TooIntertwined
    if not any(
        all(value in (plain if isinstance(value, Hashable) else others) for value in old) for old in given.choices
    ):
        word = "ENUM_ARRAY_NARROWED" if given.choices else "ENUM_ARRAY_ADDED"
        yield f"{word} at {path}/enum: the writer may write values that are not among the reader's"


def _narrowed(plain: dict[str, Any], choices: list[list[Any]]) -> dict[str, Any]:
    """With the types of the values to choose from, where there are some and no type is said."""
    if "type" in plain or not choices:
        return plain
    return {**plain, "type": sorted({_type_of(value) for value in choices[0]})}


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _words(said: Any) -> str:
    return said if isinstance(said, str) else " or ".join(said)
