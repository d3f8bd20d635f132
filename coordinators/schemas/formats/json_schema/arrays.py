"""Arrays in JSON Schema: items by their places, and the rest of them.

Until 2019-09 `items` as a list speaks of places and `additionalItems` of the rest; from 2020-12 on these are
`prefixItems` and `items`. An array too is open, closed or partly open, by what is said of the rest.
"""

from collections.abc import Iterator
from typing import Any

from coordinators.schemas.formats.json_schema.objects import Comparison
from coordinators.schemas.formats.json_schema.shape import Node


def compare_items(comparison: Comparison, reader: dict[str, Any], writer: dict[str, Any], path: str) -> Iterator[str]:
    """All that concerns items."""
    places, rest = _items(reader)
    old_places, old_rest = _items(writer)
    for number in range(max(len(places), len(old_places))):
        wanted = places[number] if number < len(places) else rest
        given = old_places[number] if number < len(old_places) else old_rest
        where = f"{path}/items/{number}"
        reasons = comparison.compare(wanted, given, where)
        if not reasons:
            continue
        if number >= len(old_places):
            model = "OPEN_CONTENT_MODEL" if old_rest is True else "PARTIALLY_OPEN_CONTENT_MODEL"
            yield f"ITEM_ADDED_{'TO' if old_rest is True else 'NOT_COVERED_BY'}_{model} at {where}"
        elif number >= len(places):
            yield f"ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL at {where}"
        else:
            yield from reasons
    if places or old_places:
        if comparison.compare(rest, old_rest, f"{path}/additionalItems"):
            word = "ADDITIONAL_ITEMS_REMOVED" if rest is False else "ADDITIONAL_ITEMS_NARROWED"
            yield f"{word} at {path}/additionalItems"
    else:
        yield from comparison.compare(rest, old_rest, f"{path}/items")
    yield from _contained(reader, writer, path)


def _items(plain: dict[str, Any]) -> tuple[list[Node], Node]:
    items = plain.get("items", True)
    if isinstance(items, list):
        return items, plain.get("additionalItems", True)
    return plain.get("prefixItems", []), items


def _contained(reader: dict[str, Any], writer: dict[str, Any], path: str) -> Iterator[str]:
    """Of what must be among the items, or may be no other, nothing but the same is known to be no less."""
    for keyword in ("contains", "minContains", "maxContains", "unevaluatedItems"):
        wanted = reader.get(keyword)
        if wanted not in (None, True, {}) and wanted != writer.get(keyword):
            yield f"CONTAINED_ITEMS_CHANGED at {path}/{keyword}"
