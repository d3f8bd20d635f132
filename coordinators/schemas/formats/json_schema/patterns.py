"""How large the expressions of a JSON Schema become: forty characters can stand for a million steps.

Whoever compiles an expression writes out its counted repetitions, and does nothing else meanwhile. So they are weighed
first: a character weighs one, a class that holds much of Unicode more, and `{m,n}` multiplies what stands before it.
"""

import re
from collections.abc import Iterator
from typing import Any

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.json_schema.documents import JsonDocuments

MOST_WEIGHT = 50_000
"""Of all expressions of a schema together: some tenths of a second."""
WIDE = 20
_PARTS = re.compile(
    r"(?P<open>\()|(?P<close>\))|\{(?P<least>\d*)(?:,(?P<most>\d*))?\}"
    r"|(?P<wide>\\[wWsSDpP]|\[\^(?:\\.|[^\]\\])*\]|\[(?:\\.|[^\]\\])*\\[wWsSDpP](?:\\.|[^\]\\])*\]|\.)"
    r"|\\.|\[(?:\\.|[^\]\\])*\]|.",
    re.DOTALL,
)
_DIGITS = 7
"""A count of more digits is too large in any case."""


def check_patterns(documents: JsonDocuments) -> None:
    """Raise `InvalidSchema` if the expressions of a schema, and of those it refers to, are too large together."""
    total = 0
    for document in (documents.root, *documents.resources.values()):
        for pattern in _patterns(document):
            total += weight(pattern)
            if total > MOST_WEIGHT:
                raise InvalidSchema(
                    f"expressions that are too large once their repetitions are written out: {MOST_WEIGHT}"
                )


def weight(pattern: str) -> int:
    """What an expression comes to when its repetitions are written out."""
    groups: list[list[int]] = [[]]
    for part in _PARTS.finditer(pattern):
        if part["open"]:
            groups.append([])
        elif part["close"]:
            inner = sum(groups.pop())
            if not groups:
                groups.append([])
            groups[-1].append(inner + 1)
        elif part["least"] is not None:
            times = max(_count(part["least"]), _count(part["most"] or ""), 1)
            if groups[-1]:
                groups[-1][-1] *= times
        else:
            groups[-1].append(WIDE if part["wide"] else 1)
    return sum(map(sum, groups))


def _count(digits: str) -> int:
    return int(digits[:_DIGITS] or 0)


def _patterns(document: Any) -> Iterator[str]:
    """Wherever they stand, also under keywords that nobody knows: references lead there all the same."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(node.get("pattern"), str):
                yield node["pattern"]
            if isinstance(node.get("patternProperties"), dict):
                yield from node["patternProperties"]
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
