"""Properties of objects: what patterns, the rest and dependencies say of them."""

import json
from typing import Any

import pytest

from coordinators.schemas.formats.json_schema.schema import FORMAT

INT, TEXT, NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}


def _words(reader: dict[str, Any], writer: dict[str, Any]) -> list[str]:
    reading, writing = (FORMAT.parse(json.dumps({"type": "object", **each})) for each in (reader, writer))
    return [reason.split(":")[0] for reason in reading.incompatibilities(writing)]


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        ({"patternProperties": {"^n": NUMBER}}, {"patternProperties": {"^n": INT}}),
        ({}, {"patternProperties": {"^n": INT}}),
        ({"patternProperties": {"^n": NUMBER}}, {"additionalProperties": INT}),
        ({"propertyNames": {"maxLength": 5}}, {"propertyNames": {"maxLength": 4}}),
        ({"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"a": ["b", "c"]}}),
        ({"dependentSchemas": {"a": {"minProperties": 1}}}, {"dependentSchemas": {"a": {"minProperties": 2}}}),
        ({"unevaluatedProperties": False}, {"unevaluatedProperties": False}),
        (
            {"properties": {"n": NUMBER}, "patternProperties": {"^n": NUMBER}},
            {"properties": {"n": INT}, "patternProperties": {"^n": NUMBER}},
        ),
    ],
)
def test_compatible(reader: dict[str, Any], writer: dict[str, Any]) -> None:
    assert _words(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "told"),
    [
        (
            {"patternProperties": {"^n": INT}, "additionalProperties": False},
            {"properties": {"name": TEXT}, "additionalProperties": False},
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL at #/properties/name",
        ),
        (
            {"additionalProperties": False},
            {"patternProperties": {"^n": INT}, "additionalProperties": False},
            "PATTERN_PROPERTY_REMOVED at #/patternProperties/^n",
        ),
        (
            {"dependentSchemas": {"a": {"minProperties": 2}}},
            {"dependentSchemas": {"a": {"minProperties": 1}}},
            "MIN_PROPERTIES_INCREASED at #/dependentSchemas/a",
        ),
        (
            {"unevaluatedProperties": False},
            {},
            "UNEVALUATED_PROPERTIES_NARROWED at #/unevaluatedProperties",
        ),
        (
            {"properties": {"n": TEXT}, "required": ["n"]},
            {"properties": {"n": TEXT}},
            "REQUIRED_ATTRIBUTE_ADDED at #/required/n",
        ),
    ],
)
def test_incompatible(reader: dict[str, Any], writer: dict[str, Any], told: str) -> None:
    assert told in _words(reader, writer)
