"""How often a schema looks at one value: a few lines that refer to each other can ask for it 2^60 times.

Counted are the parts of a schema that speak of the same value, references followed; what speaks of a value's items or
properties is counted by itself; how a schema multiplies the work with every level of a value is the matter of
`looks.py`.
"""

from collections.abc import Iterator

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.json_schema.documents import REFERENCES, JsonDocuments, everything_in
from coordinators.schemas.formats.json_schema.shape import Node

MOST_LOOKS = 10_000


def check_effort(documents: JsonDocuments) -> None:
    """Raise `InvalidSchema` if one value would be looked at too often."""
    looks: dict[int, int] = {}
    for document in (documents.root, *documents.resources.values()):
        for part, _ in everything_in(document, ""):
            if _count(part, documents, looks) > MOST_LOOKS:
                raise InvalidSchema(f"alternatives and references that look at one value more than {MOST_LOOKS} times")


def _count(node: Node, documents: JsonDocuments, looks: dict[int, int]) -> int:
    """Without recursion: a part is counted when all that it is made of have been."""
    waiting = [(node, False)]
    while waiting:
        current, is_left = waiting.pop()
        if is_left:
            looks[id(current)] = 1 + sum(looks.get(id(part), 1) for part in beside(current, documents))
        elif id(current) not in looks:
            # Whoever meets it again on the way down counts it as one.
            looks[id(current)] = 1
            waiting.append((current, True))
            waiting.extend((part, False) for part in beside(current, documents))
    return looks[id(node)]


def beside(node: Node, documents: JsonDocuments) -> Iterator[Node]:
    """The parts that speak of the same value."""
    if isinstance(node, bool):
        return
    for keyword in REFERENCES:
        if isinstance(node.get(keyword), str):
            yield documents.target(node, keyword)
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from node.get(keyword, ())
    for keyword in ("not", "if", "then", "else"):
        if keyword in node:
            yield node[keyword]
    yield from (each for each in node.get("dependentSchemas", {}).values())
