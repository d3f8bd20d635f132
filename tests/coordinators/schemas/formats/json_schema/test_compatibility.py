"""Which changes of a JSON Schema are compatible: a table of known cases, and by holding values against both schemas."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.schemas.formats.json_schema.schema import FORMAT


def _told(reader: Any, writer: Any, *, lenient: bool = False) -> list[str]:
    return FORMAT.parse(json.dumps(reader)).incompatibilities(FORMAT.parse(json.dumps(writer)), lenient=lenient)


def _words(reader: Any, writer: Any) -> set[str]:
    return {reason.split()[0] for reason in _told(reader, writer)}


def _object(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties or {}, **more}


INT, TEXT = {"type": "integer"}, {"type": "string"}
CLOSED = {"additionalProperties": False}

COMPATIBLE = [
    ("anything", {}, INT),
    ("true", True, INT),
    ("the same", _object({"a": INT}), _object({"a": INT})),
    ("nothing was written", INT, False),
    ("integer to number", {"type": "number"}, INT),
    ("type extended", {"type": ["string", "null"]}, TEXT),
    ("title, description, default, id", {**INT, "title": "x", "description": "y", "default": 3, "$id": "z"}, INT),
    ("max length increased", {**TEXT, "maxLength": 9}, {**TEXT, "maxLength": 8}),
    ("max length removed", TEXT, {**TEXT, "maxLength": 8}),
    ("min length decreased", {**TEXT, "minLength": 1}, {**TEXT, "minLength": 2}),
    ("pattern removed", TEXT, {**TEXT, "pattern": "a"}),
    ("maximum increased", {**INT, "maximum": 9}, {**INT, "maximum": 8}),
    ("maximum instead of exclusive", {**INT, "maximum": 9}, {**INT, "exclusiveMaximum": 9}),
    ("minimum removed", INT, {**INT, "minimum": 9}),
    ("multiple reduced", {**INT, "multipleOf": 5}, {**INT, "multipleOf": 10}),
    ("multiple of one", {"type": "number", "multipleOf": 1}, INT),
    ("required removed", _object({"a": INT}), _object({"a": INT}, required=["a"])),
    (
        "required added with default",
        _object({"a": {**INT, "default": 1}}, required=["a"]),
        _object({"a": INT}),
    ),
    ("property removed from open", _object(), _object({"a": INT})),
    ("empty property added to open", _object({"a": {}}), _object()),
    ("optional added to closed", _object({"a": INT}, **CLOSED), _object(**CLOSED)),
    (
        "required with default added to closed",
        _object({"a": {**INT, "default": 1}}, required=["a"], **CLOSED),
        _object(**CLOSED),
    ),
    ("opened", _object({"a": INT}), _object({"a": INT}, **CLOSED)),
    ("rest extended", _object(additionalProperties={"type": "number"}), _object(additionalProperties=INT)),
    ("added, covered", _object({"a": {"type": "number"}}, additionalProperties=INT), _object(additionalProperties=INT)),
    ("removed, covered by pattern", _object(patternProperties={"^a": INT}, **CLOSED), _object({"ab": INT}, **CLOSED)),
    ("false property removed from closed", _object(**CLOSED), _object({"a": False}, **CLOSED)),
    ("dependency removed", _object(), _object(dependencies={"a": ["b"]})),
    ("dependency narrowed", _object(dependencies={"a": ["b"]}), _object(dependencies={"a": ["b", "c"]})),
    ("max properties", _object(maxProperties=3), _object(maxProperties=2)),
    ("items extended", {"type": "array", "items": {"type": "number"}}, {"type": "array", "items": INT}),
    ("unique removed", {"type": "array"}, {"type": "array", "uniqueItems": True}),
    (
        "item added to closed",
        {"type": "array", "items": [INT, TEXT], "additionalItems": False},
        {"type": "array", "items": [INT], "additionalItems": False},
    ),
    ("item removed from open", {"type": "array", "items": [INT]}, {"type": "array", "items": [INT, TEXT]}),
    ("enum extended", {"enum": ["a", "b"]}, {"enum": ["a"]}),
    ("const to enum", {"enum": ["a", "b"]}, {"const": "a"}),
    ("enum removed", TEXT, {**TEXT, "enum": ["a"]}),
    ("type of enum", TEXT, {"enum": ["a"]}),
    ("sum extended", {"oneOf": [INT, TEXT]}, {"oneOf": [INT]}),
    ("into a sum", {"anyOf": [INT, TEXT]}, TEXT),
    ("sum in another order", {"oneOf": [TEXT, INT]}, {"oneOf": [INT, TEXT]}),
    ("out of a sum", {"type": ["integer", "string"]}, {"anyOf": [INT, TEXT]}),
    ("product narrowed", {"allOf": [_object({"a": INT})]}, {"allOf": [_object({"a": INT}), _object({"b": INT})]}),
    ("exclusion narrowed", {"not": {"type": "integer"}}, {"not": {"type": "number"}}),
    (
        "the same condition",
        {"if": INT, "then": {"minimum": 1}},
        {"if": INT, "then": {"minimum": 2}},
    ),
    (
        "the same by reference",
        {"$ref": "#/definitions/x", "definitions": {"x": INT}},
        {"$ref": "#/definitions/y", "definitions": {"y": INT}},
    ),
]

INCOMPATIBLE = [
    ("TYPE_CHANGED", INT, TEXT),
    ("TYPE_NARROWED", INT, {"type": "number"}),
    ("TYPE_NARROWED", TEXT, {"type": ["string", "null"]}),
    ("TYPE_NARROWED", TEXT, {}),
    ("TYPE_NARROWED", False, INT),
    ("MAX_LENGTH_ADDED", {**TEXT, "maxLength": 8}, TEXT),
    ("MAX_LENGTH_DECREASED", {**TEXT, "maxLength": 7}, {**TEXT, "maxLength": 8}),
    ("MIN_LENGTH_INCREASED", {**TEXT, "minLength": 3}, {**TEXT, "minLength": 2}),
    ("MIN_LENGTH_ADDED", {**TEXT, "minLength": 3}, TEXT),
    ("PATTERN_ADDED", {**TEXT, "pattern": "a"}, TEXT),
    ("PATTERN_CHANGED", {**TEXT, "pattern": "a"}, {**TEXT, "pattern": "b"}),
    ("MAXIMUM_ADDED", {**INT, "maximum": 8}, INT),
    ("MAXIMUM_DECREASED", {**INT, "maximum": 7}, {**INT, "maximum": 8}),
    ("MINIMUM_INCREASED", {**INT, "minimum": 9}, {**INT, "minimum": 8}),
    ("EXCLUSIVE_MAXIMUM_DECREASED", {**INT, "exclusiveMaximum": 9}, {**INT, "maximum": 9}),
    ("MULTIPLE_OF_ADDED", {"type": "number", "multipleOf": 2}, {"type": "number"}),
    ("MULTIPLE_OF_CHANGED", {**INT, "multipleOf": 10}, {**INT, "multipleOf": 5}),
    ("REQUIRED_ATTRIBUTE_ADDED", _object({"a": INT}, required=["a"]), _object({"a": INT})),
    (
        "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        _object({"a": INT}, required=["a"], **CLOSED),
        _object(**CLOSED),
    ),
    ("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", _object({"a": INT}), _object()),
    ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", _object(**CLOSED), _object({"a": INT}, **CLOSED)),
    (
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        _object({"a": TEXT}, additionalProperties=INT),
        _object(additionalProperties=INT),
    ),
    (
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        _object(additionalProperties=INT),
        _object({"a": TEXT}, additionalProperties=INT),
    ),
    ("ADDITIONAL_PROPERTIES_REMOVED", _object(**CLOSED), _object()),
    ("ADDITIONAL_PROPERTIES_NARROWED", _object(additionalProperties=INT), _object()),
    ("PATTERN_PROPERTY_NARROWED", _object(patternProperties={"^a": INT}), _object()),
    ("DEPENDENCY_ARRAY_ADDED", _object(dependencies={"a": ["b"]}), _object()),
    ("DEPENDENCY_ARRAY_EXTENDED", _object(dependencies={"a": ["b", "c"]}), _object(dependencies={"a": ["b"]})),
    ("DEPENDENCY_SCHEMA_ADDED", _object(dependencies={"a": INT}), _object()),
    ("MAX_PROPERTIES_DECREASED", _object(maxProperties=1), _object(maxProperties=2)),
    ("TYPE_CHANGED", {"type": "array", "items": INT}, {"type": "array", "items": TEXT}),
    ("MAX_ITEMS_ADDED", {"type": "array", "maxItems": 1}, {"type": "array"}),
    ("UNIQUE_ITEMS_ADDED", {"type": "array", "uniqueItems": True}, {"type": "array"}),
    ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", {"type": "array", "items": [INT, INT]}, {"type": "array", "items": [INT]}),
    (
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        {"type": "array", "items": [INT], "additionalItems": False},
        {"type": "array", "items": [INT, INT], "additionalItems": False},
    ),
    ("ENUM_ARRAY_NARROWED", {"enum": ["a"]}, {"enum": ["a", "b"]}),
    ("ENUM_ARRAY_ADDED", {**TEXT, "enum": ["a"]}, TEXT),
    ("SUM_TYPE_NARROWED", {"oneOf": [INT]}, {"oneOf": [INT, TEXT]}),
    ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", {"oneOf": [INT, TEXT]}, {"type": "array"}),
    ("TYPE_NARROWED", {"allOf": [INT, TEXT]}, {"allOf": [{}]}),
    ("NOT_TYPE_EXTENDED", {"not": {"type": "number"}}, {"not": {"type": "integer"}}),
    ("CONDITION_CHANGED", {"if": INT, "then": {"minimum": 3}}, {"if": INT, "then": {"minimum": 2}}),
    ("PROPERTY_NAMES_NARROWED", _object(propertyNames={"maxLength": 3}), _object()),
]


@pytest.mark.parametrize(("reader", "writer"), [each[1:] for each in COMPATIBLE], ids=[each[0] for each in COMPATIBLE])
def test_compatible_changes(reader: Any, writer: Any) -> None:
    assert _told(reader, writer) == []


@pytest.mark.parametrize(("word", "reader", "writer"), INCOMPATIBLE)
def test_incompatible_changes_are_named(word: str, reader: Any, writer: Any) -> None:
    assert word in _words(reader, writer)


def test_the_reason_says_where() -> None:
    (told,) = _told(_object({"a": _object({"b": TEXT})}), _object({"a": _object({"b": INT})}))
    assert told.startswith("TYPE_CHANGED at #/properties/a/properties/b: the reader takes string")


def test_lenient_lets_optional_properties_come_and_go() -> None:
    assert _told(_object({"a": INT}), _object(), lenient=True) == []
    assert _told(_object(**CLOSED), _object({"a": INT}, **CLOSED), lenient=True) == []
    assert _told(_object({"a": INT}), _object({"a": TEXT}), lenient=True) != []


def test_schemas_that_refer_to_themselves_come_to_an_end() -> None:
    node = _object({"next": {"$ref": "#"}, "value": INT})
    assert _told(node, node) == []
    assert _words(node, _object({"next": {"$ref": "#"}, "value": TEXT})) == {"TYPE_CHANGED"}


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
def test_what_stands_beside_a_reference_counts_in_newer_drafts(draft: str) -> None:
    base = {"$schema": f"https://json-schema.org/draft/{draft}/schema", "$defs": {"x": INT}, "$ref": "#/$defs/x"}
    assert _words({**base, "maximum": 3}, base) == {"MAXIMUM_ADDED"}


def test_prefix_items_are_places() -> None:
    base = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array"}
    assert _words({**base, "prefixItems": [INT]}, {**base, "prefixItems": [TEXT]}) == {"TYPE_CHANGED"}
    assert _told({**base, "prefixItems": [INT], "items": INT}, {**base, "items": INT}) == []


def test_schemas_too_intertwined_are_called_incompatible() -> None:
    many = {"anyOf": [_object({"a": {"const": number}}, required=["a"]) for number in range(300)]}
    other = {"anyOf": [_object({"a": {"const": -number}}, required=["a"]) for number in range(1, 301)]}
    assert _told(many, other)[0].startswith("TOO_COMPLEX")


# -- what is called compatible lets values through

_PLAIN: list[Any] = [None, True, *range(-1, 12, 2), 2.5, "", "a", "ab", "abc", "b", [], {}]
_SMALL: list[Any] = [*_PLAIN, *([one] for one in _PLAIN), *({name: one} for name in ("a", "b", "ab") for one in _PLAIN)]
_VALUES: list[Any] = [
    *_SMALL,
    *([one, other] for one in (1, "a", None) for other in _PLAIN),
    *({"a": one, "b": other} for one in _PLAIN for other in (1, "ab", None)),
    *({"a": one} for one in _SMALL),
    *([one, 1, "a"] for one in _SMALL),
]
_LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(("integer", "number", "string", "object", "array", ["string", "null"], "object")),
        "minimum": st.integers(0, 5),
        "maximum": st.integers(5, 10),
        "maxLength": st.integers(1, 3),
        "minLength": st.integers(0, 2),
        "pattern": st.sampled_from(("^a", "b$")),
        "enum": st.lists(st.sampled_from((1, "a", "b", None, [])), min_size=1, max_size=3),
        "maxItems": st.integers(0, 2),
        "multipleOf": st.sampled_from((1, 2, 4)),
        "required": st.lists(st.sampled_from(("a", "b")), max_size=2, unique=True),
        "maxProperties": st.integers(1, 3),
    },
)


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from(("a", "b", "ab")), inner, max_size=2)
    return st.fixed_dictionaries(
        {"type": st.sampled_from(("object", "array"))},
        optional={
            "properties": named,
            "additionalProperties": inner | st.booleans(),
            "patternProperties": st.dictionaries(st.sampled_from(("^a", "b$")), inner, max_size=1),
            "items": inner | st.lists(inner, min_size=1, max_size=2),
            "additionalItems": inner | st.booleans(),
            "required": st.lists(st.sampled_from(("a", "b")), max_size=2, unique=True),
        },
    ) | st.one_of(
        *(st.fixed_dictionaries({key: st.lists(inner, min_size=1, max_size=2)}) for key in ("anyOf", "allOf")),
        st.fixed_dictionaries({"not": inner}),
    )


_SCHEMAS = st.recursive(_LIMITS | st.booleans(), _composed, max_leaves=4)


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """A schema and one that differs from it in a few places, or in all."""
    writer = draw(_SCHEMAS)
    return (_changed(draw, writer) if draw(st.booleans()) else draw(_SCHEMAS)), writer


def _changed(draw: st.DrawFn, node: Any) -> Any:
    if not isinstance(node, dict) or draw(st.integers(0, 3)) == 0:
        return draw(_SCHEMAS)
    changed = dict(node)
    if changed and draw(st.booleans()):
        del changed[draw(st.sampled_from(sorted(changed)))]
    for key in ("additionalProperties", "additionalItems", "items", "not"):
        if isinstance(changed.get(key), dict) and draw(st.booleans()):
            changed[key] = _changed(draw, changed[key])
    for name in changed.get("properties", {}):
        if draw(st.booleans()):
            changed["properties"] = {**changed["properties"], name: _changed(draw, changed["properties"][name])}
    return changed


@settings(max_examples=150, deadline=None)
@given(_pairs())
def test_a_compatible_reader_takes_whatever_its_writer_could_write(pair: tuple[Any, Any]) -> None:
    reader, writer = pair
    if _told(reader, writer):
        return
    reading, writing = (jsonschema_rs.Draft7Validator(each) for each in (reader, writer))
    for value in _VALUES:
        assert reading.is_valid(value) or not writing.is_valid(value), value


def test_long_lists_of_choices_and_of_required_names_are_compared_quickly() -> None:
    assert _told({"enum": list(range(40_000))}, {"enum": list(range(39_000))}) == []
    names = [f"name-{number}" for number in range(20_000)]
    assert _told(_object(required=names), _object(required=names)) == []


def test_very_many_patterns_and_names_are_called_too_complex() -> None:
    patterns = {f"^a{number}": INT for number in range(1000)}
    names = {f"b{number}": INT for number in range(1000)}
    assert _words(_object(patternProperties=patterns), _object(names)) == {"TOO_COMPLEX:"}
    objects = [{"a": number} for number in range(1000)]
    assert _words({"enum": objects}, {"enum": objects}) == {"TOO_COMPLEX:"}
