"""Keywords of JSON Schema that set a limit: whether a reader's lets through all that a writer's does.

Each complaint has the name that the registry's clients know, as `MAX_LENGTH_DECREASED`.
"""

import math
from collections.abc import Iterator
from typing import Any

ALL_TYPES = frozenset(("null", "boolean", "object", "array", "number", "string", "integer"))

_UPPER = {"string": ("maxLength",), "array": ("maxItems",), "object": ("maxProperties",)}
_LOWER = {"string": ("minLength",), "array": ("minItems",), "object": ("minProperties",)}
_WORDS = {
    "maxLength": "MAX_LENGTH",
    "minLength": "MIN_LENGTH",
    "maxItems": "MAX_ITEMS",
    "minItems": "MIN_ITEMS",
    "maxProperties": "MAX_PROPERTIES",
    "minProperties": "MIN_PROPERTIES",
}


def types(plain: dict[str, Any]) -> frozenset[str]:
    """The types that a value may have by `type`; a number may be an integer."""
    said = plain.get("type")
    if said is None:
        return ALL_TYPES
    named = frozenset((said,) if isinstance(said, str) else said)
    return named | {"integer"} if "number" in named else named


def type_complaints(reader: frozenset[str], writer: frozenset[str]) -> Iterator[str]:
    """Types that the writer may use and the reader does not know."""
    if not writer <= reader:
        yield "TYPE_NARROWED" if writer & reader else "TYPE_CHANGED"


def limit_complaints(kind: str, reader: dict[str, Any], writer: dict[str, Any]) -> Iterator[str]:
    """Of values of this type."""
    for key in _UPPER.get(kind, ()):
        yield from _grown(_WORDS[key], writer.get(key), reader.get(key), tightened="DECREASED")
    for key in _LOWER.get(kind, ()):
        # A lower limit of nothing is none.
        yield from _grown(_WORDS[key], -(writer.get(key) or 0), -(reader.get(key) or 0), tightened="INCREASED")
    if kind == "string" and "pattern" in reader and reader["pattern"] != writer.get("pattern"):
        yield "PATTERN_CHANGED" if "pattern" in writer else "PATTERN_ADDED"
    if kind == "array" and reader.get("uniqueItems") and not writer.get("uniqueItems"):
        yield "UNIQUE_ITEMS_ADDED"
    if kind == "number":
        yield from _range_complaints(reader, writer)
        yield from _multiple_complaints(reader, writer)


def _grown(word: str, writer: float | None, reader: float | None, *, tightened: str) -> Iterator[str]:
    if reader is None or (writer is not None and reader >= writer):
        return
    added = writer is None or (tightened == "INCREASED" and writer == 0)
    yield f"{word}_ADDED" if added else f"{word}_{tightened}"


def _range_complaints(reader: dict[str, Any], writer: dict[str, Any]) -> Iterator[str]:
    for word, key, sign in (("MAXIMUM", "maximum", 1), ("MINIMUM", "minimum", -1)):
        (limit, is_exclusive), (old, was_exclusive) = _bound(reader, key, sign), _bound(writer, key, sign)
        if limit < old or (limit == old and is_exclusive and not was_exclusive and math.isfinite(limit)):
            prefix = "EXCLUSIVE_" if is_exclusive else ""
            change = "DECREASED" if sign > 0 else "INCREASED"
            yield f"{prefix}{word}_{'ADDED' if math.isinf(old) else change}"


def _bound(plain: dict[str, Any], key: str, sign: int) -> tuple[float, bool]:
    """The upper limit, or the lower one as an upper one of what is negative, and whether it is left out itself."""
    limit, exclusive = plain.get(key), plain.get(f"exclusive{key.capitalize()}")
    bounds = []
    if limit is not None:
        # In draft 4 the other keyword says whether this one is exclusive.
        bounds.append((sign * limit, exclusive is True))
    if exclusive is not None and not isinstance(exclusive, bool):
        bounds.append((sign * exclusive, True))
    return min(bounds, key=lambda bound: (bound[0], not bound[1]), default=(math.inf, False))


def _multiple_complaints(reader: dict[str, Any], writer: dict[str, Any]) -> Iterator[str]:
    wanted = reader.get("multipleOf")
    if wanted is None:
        return
    given = writer.get("multipleOf", 1 if types(writer) == {"integer"} else None)
    if given is None:
        yield "MULTIPLE_OF_ADDED"
    elif not math.isclose(math.remainder(given, wanted), 0, abs_tol=1e-12):
        yield "MULTIPLE_OF_CHANGED"
