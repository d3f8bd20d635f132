"""What one part of a JSON Schema demands, sorted by kind, with what it refers to and all of `allOf` laid beside it.

A value is valid if it satisfies every one of the constraints: plain keywords, sums (`anyOf`, `oneOf`), values to choose
from (`enum`, `const`), exclusions (`not`) and conditions (`if`).
"""

from typing import Any

from attrs import define, field

from coordinators.schemas.formats.json_schema.documents import REFERENCES, JsonDocuments
from coordinators.schemas.formats.json_schema.shape import Node

ANNOTATIONS = frozenset(
    (
        *("$schema", "$id", "id", "$comment", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("$defs", "definitions", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("format", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)
"""Keywords that make no value invalid, or of which the registry's rules say nothing."""
STRUCTURE = frozenset((*REFERENCES, "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"))
MOST_PARTS = 10_000


class TooIntertwined(Exception):
    """A part of a schema is made of more parts than are looked at."""


@define(eq=False)
class Condition:
    """`if`, `then` and `else`."""

    test: Node
    then: Node
    otherwise: Node


@define(eq=False)
class Constraints:
    """See the module. Made by `constraints`."""

    is_never: bool = False
    """Whether nothing is valid."""
    plain: list[dict[str, Any]] = field(factory=list)
    sums: list[tuple[str, list[Node]]] = field(factory=list)
    choices: list[list[Any]] = field(factory=list)
    exclusions: list[Node] = field(factory=list)
    conditions: list[Condition] = field(factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether everything is valid."""
        return not (self.is_never or self.plain or self.sums or self.choices or self.exclusions or self.conditions)


def constraints(node: Node, documents: JsonDocuments) -> Constraints:
    """All that this part of a schema demands."""
    found = Constraints()
    waiting: list[Node] = [node]
    met: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if current is False:
            found.is_never = True
        if isinstance(current, bool) or id(current) in met:
            continue
        met.add(id(current))
        if len(met) > MOST_PARTS:
            raise TooIntertwined
        reference = next((key for key in REFERENCES if key in current), None)
        if reference is not None:
            waiting.append(documents.target(current, reference))
            if documents.draft in ("4", "6", "7"):
                # Until then, whatever stood beside a reference counted for nothing.
                continue
        waiting.extend(current.get("allOf", ()))
        _sort(current, found)
    return found


def _sort(node: dict[str, Any], found: Constraints) -> None:
    plain = {key: value for key, value in node.items() if key not in STRUCTURE and key not in ANNOTATIONS}
    if plain:
        found.plain.append(plain)
    found.sums.extend((key, node[key]) for key in ("anyOf", "oneOf") if key in node)
    if "enum" in node:
        found.choices.append(node["enum"])
    if "const" in node:
        found.choices.append([node["const"]])
    if "not" in node:
        found.exclusions.append(node["not"])
    if "if" in node and ("then" in node or "else" in node):
        found.conditions.append(Condition(node["if"], node.get("then", True), node.get("else", True)))
