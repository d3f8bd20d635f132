"""How often validation looks at the values of a payload: with every level, a schema can multiply that.

    {"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}

looks twice at the items, four times at theirs, and so on: forty brackets are 2^40 looks. What validates does nothing
else meanwhile, and cannot be stopped. So it is worked out beforehand how often one value is looked at, at most, at each
depth; a payload whose values would be looked at too often is refused.

Followed are the parts of a schema that speak of one value (`effort.py`), and from there those that speak of the values
in it: by the names of properties, by positions, or of all of them.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from coordinators.schemas.formats.json_schema.documents import JsonDocuments
from coordinators.schemas.formats.json_schema.effort import beside
from coordinators.schemas.formats.json_schema.shape import Node

MOST_LOOKS = 10_000_000
"""At all values of a payload: some tenths of a second."""
MOST_STEPS = 500_000
"""Of working it out; what lies deeper than that gets is refused."""
_ALL = "*"
_OF_OBJECTS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_OF_ARRAYS = ("items", "additionalItems", "unevaluatedItems", "contains")
Label = tuple[str, str]
"""Which values in a value: of an object or an array, by name or position or all."""


class _TooManySteps(Exception):
    """It takes too long."""


@define(eq=False)
class _Entered:
    """A part of a schema that speaks of a value by itself, with all beside it."""

    looks: int
    inner: dict[Label, Counter[int]]
    """How often which parts look at the values in it."""


@define(eq=False)
class Looks:
    """Of one schema, as its root is held against a value."""

    _documents: JsonDocuments
    _entered: dict[int, _Entered] = field(factory=dict, init=False)
    _steps: int = field(default=0, init=False)

    def by_depth(self, most_levels: int) -> list[int]:
        """The most looks at one value that lies so deep or less; it ends where they are too many."""
        try:
            self._enter_all()
        except _TooManySteps:
            return []
        root, found = id(self._documents.root), [1]
        now = {place: entered.looks for place, entered in self._entered.items()}
        while len(found) <= most_levels and found[-1] <= MOST_LOOKS and self._steps <= MOST_STEPS:
            found.append(max(found[-1], now[root]))
            if not any(now.values()):
                return found + [found[-1]] * most_levels
            now = {place: self._deeper(entered, now) for place, entered in self._entered.items()}
        return found

    def _deeper(self, entered: _Entered, now: dict[int, int]) -> int:
        sums: dict[Label, int] = {}
        for label, parts in entered.inner.items():
            self._steps += len(parts)
            sums[label] = sum(count * now[part] for part, count in parts.items())
        # What is said of all counts for each, whatever else is said of it.
        return max(
            (count + (sums.get((kind, _ALL), 0) if name != _ALL else 0) for (kind, name), count in sums.items()),
            default=0,
        )

    def _enter_all(self) -> None:
        waiting = [self._documents.root]
        while waiting:
            node = waiting.pop()
            if id(node) in self._entered:
                continue
            entered = self._entered[id(node)] = _Entered(0, {})
            for part in self._beside(node):
                entered.looks += 1
                for label, inner in _inner(part):
                    entered.inner.setdefault(label, Counter())[id(inner)] += 1
                    waiting.append(inner)

    def _beside(self, node: Node) -> Iterator[Node]:
        """The part and all that speak of the same value, as often as they are come to; not again below themselves."""
        waiting: list[tuple[Node, frozenset[int]]] = [(node, frozenset())]
        while waiting:
            current, above = waiting.pop()
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise _TooManySteps
            yield current
            if isinstance(current, dict) and id(current) not in above:
                waiting.extend((part, above | {id(current)}) for part in beside(current, self._documents))


def _inner(node: Node) -> Iterator[tuple[Label, Node]]:
    if isinstance(node, bool):
        return
    for name, part in node.get("properties", {}).items():
        yield ("object", f".{name}"), part
    for part in node.get("patternProperties", {}).values():
        yield ("object", _ALL), part
    for keyword in _OF_OBJECTS:
        if keyword in node:
            yield ("object", _ALL), node[keyword]
    for keyword in _OF_ARRAYS:
        said = node.get(keyword)
        if isinstance(said, dict | bool):
            yield ("array", _ALL), said
    for keyword in ("prefixItems", "items"):
        said = node.get(keyword)
        for number, part in enumerate(said if isinstance(said, list) else ()):
            yield ("array", f".{number}"), part


def depth_and_count(value: Any) -> tuple[int, int]:
    """How deep a value is, and how many there are in it, itself counted."""
    depth, count, values = 0, 0, [value]
    while values:
        depth += 1
        count += len(values)
        values = [
            inner
            for outer in values
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth, count
