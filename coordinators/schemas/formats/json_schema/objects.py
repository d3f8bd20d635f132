"""Objects in JSON Schema: which properties a writer may put into them, and whether the reader takes them.

An object's model is open (anything may be there besides), closed (nothing), or partly open (what a pattern or a schema
for the rest allows). Of a property one asks what each side says of it, by its name, by patterns and by the rest; the
names of complaints are those that the registry's clients know.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import re2

from coordinators.schemas.formats.json_schema.shape import Node


class Comparison(Protocol):
    """What compares parts of schemas."""

    is_lenient: bool

    def compare(self, reader: Node, writer: Node, path: str) -> list[str]:
        """What the reader does not take of the writer's."""

    def match(self, patterns: int) -> None:
        """So many patterns are about to be held against a name; raises if they are too many in all."""


def compare_properties(
    comparison: Comparison, reader: dict[str, Any], writer: dict[str, Any], path: str
) -> Iterator[str]:
    """All that concerns properties."""
    new, old = reader.get("properties", {}), writer.get("properties", {})
    for name in sorted(old.keys() | new.keys()):
        yield from _property(comparison, name, reader, writer, f"{path}/properties/{name}")
    yield from _required(reader, writer, path)
    yield from _rest(comparison, reader, writer, path)
    yield from _dependencies(comparison, reader, writer, path)
    if "propertyNames" in reader and comparison.compare(
        reader["propertyNames"], writer.get("propertyNames", True), f"{path}/propertyNames"
    ):
        yield f"PROPERTY_NAMES_NARROWED at {path}/propertyNames"
    if reader.get("unevaluatedProperties", True) not in (True, {}, writer.get("unevaluatedProperties")):
        yield f"UNEVALUATED_PROPERTIES_NARROWED at {path}/unevaluatedProperties"


def _property(
    comparison: Comparison, name: str, reader: dict[str, Any], writer: dict[str, Any], path: str
) -> Iterator[str]:
    comparison.match(len(reader.get("patternProperties", ())) + len(writer.get("patternProperties", ())))
    wanted, given = _said_of(name, reader), _said_of(name, writer)
    is_added = name not in writer.get("properties", {})
    is_removed = name not in reader.get("properties", {})
    for new in wanted:
        reasons = _least([comparison.compare(new, old, path) for old in given])
        if not reasons:
            continue
        if is_added:
            if not (comparison.is_lenient and _model(writer) == "open"):
                yield _added(_model(writer), path)
        elif is_removed:
            if not (comparison.is_lenient and _model(reader) == "closed"):
                yield _removed(_model(reader), path)
        else:
            yield from reasons


def _said_of(name: str, plain: dict[str, Any]) -> list[Node]:
    """All that is demanded of the property of this name."""
    said = [node for pattern, node in plain.get("patternProperties", {}).items() if _matches(pattern, name)]
    if name in plain.get("properties", {}):
        said.append(plain["properties"][name])
    return said or [plain.get("additionalProperties", True)]


def _model(plain: dict[str, Any]) -> str:
    rest = plain.get("additionalProperties", True)
    if plain.get("patternProperties") or rest not in (True, False):
        return "partly open"
    return "open" if rest is True else "closed"


def _added(model: str, path: str) -> str:
    if model == "open":
        return (
            f"PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL at {path}: the writer, who may write any property, "
            "may have written something else under this name"
        )
    return f"PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL at {path}: the writer may write something else"


def _removed(model: str, path: str) -> str:
    if model == "closed":
        return f"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL at {path}: the reader takes no property of this name"
    return f"PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL at {path}: the reader takes something else"


def _required(reader: dict[str, Any], writer: dict[str, Any], path: str) -> Iterator[str]:
    demanded = frozenset(writer.get("required", ()))
    for name in reader.get("required", ()):
        described = reader.get("properties", {}).get(name)
        if name in demanded or (isinstance(described, dict) and "default" in described):
            continue
        known = name in writer.get("properties", {})
        word = "REQUIRED_ATTRIBUTE_ADDED" if known else "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"
        yield f"{word} at {path}/required/{name}: the writer may leave it out, and it has no default"


def _rest(comparison: Comparison, reader: dict[str, Any], writer: dict[str, Any], path: str) -> Iterator[str]:
    """What has no name of its own: by patterns, and all other."""
    rest, old_rest = reader.get("additionalProperties", True), writer.get("additionalProperties", True)
    patterns, old_patterns = reader.get("patternProperties", {}), writer.get("patternProperties", {})
    for pattern, node in patterns.items():
        if comparison.compare(node, old_patterns.get(pattern, old_rest), f"{path}/patternProperties/{pattern}"):
            yield f"PATTERN_PROPERTY_NARROWED at {path}/patternProperties/{pattern}"
    for pattern in old_patterns.keys() - patterns.keys():
        if comparison.compare(rest, old_patterns[pattern], f"{path}/patternProperties/{pattern}"):
            yield f"PATTERN_PROPERTY_REMOVED at {path}/patternProperties/{pattern}"
    if comparison.compare(rest, old_rest, f"{path}/additionalProperties"):
        word = "ADDITIONAL_PROPERTIES_REMOVED" if rest is False else "ADDITIONAL_PROPERTIES_NARROWED"
        yield f"{word} at {path}/additionalProperties"


def _dependencies(comparison: Comparison, reader: dict[str, Any], writer: dict[str, Any], path: str) -> Iterator[str]:
    for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
        for name, wanted in reader.get(keyword, {}).items():
            given = writer.get(keyword, {}).get(name)
            where = f"{path}/{keyword}/{name}"
            if isinstance(wanted, list):
                if not set(wanted) <= set(given if isinstance(given, list) else ()):
                    yield f"DEPENDENCY_ARRAY_{'EXTENDED' if isinstance(given, list) else 'ADDED'} at {where}"
            elif given is None or isinstance(given, list):
                if comparison.compare(wanted, True, where):
                    yield f"DEPENDENCY_SCHEMA_ADDED at {where}"
            else:
                yield from comparison.compare(wanted, given, where)


def _least(ways: list[list[str]]) -> list[str]:
    return min(ways, key=len)


def _matches(pattern: str, name: str) -> bool:
    try:
        return re2.search(pattern, name) is not None
    except re2.error:
        return False
