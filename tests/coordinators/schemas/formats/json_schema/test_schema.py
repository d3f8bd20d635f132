"""JSON Schemas as the registry and the publish path use them: sameness, references, bounds, validation."""

import json
from typing import Any

import pytest

from coordinators.schemas.formats.format import InvalidPayload, InvalidSchema, ResolvedReference
from coordinators.schemas.formats.json_schema.schema import DRAFTS, FORMAT


def _parsed(schema: Any, *references: ResolvedReference) -> Any:
    return FORMAT.parse(json.dumps(schema), references)


def test_white_space_means_nothing_and_the_order_of_keys_does_unless_normalized() -> None:
    one, other = FORMAT.parse('{"type": "object", "title" : "x"}'), FORMAT.parse('{"title":"x","type":"object"}')
    assert one.canonical == '{"type":"object","title":"x"}'
    assert one.canonical != other.canonical
    assert one.normalized == other.normalized
    assert one.name_of(b"") == "x"


@pytest.mark.parametrize("draft", sorted(DRAFTS))
def test_every_draft_is_known(draft: str) -> None:
    schema = _parsed({"type": "integer", **({"$schema": draft} if draft else {})})
    schema.validator()(b"1")
    with pytest.raises(InvalidPayload):
        schema.validator()(b'"x"')


def test_the_draft_decides_what_a_keyword_means() -> None:
    old = _parsed({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True})
    with pytest.raises(InvalidPayload):
        old.validator()(b"3")
    with pytest.raises(InvalidSchema):
        _parsed({"maximum": 3, "exclusiveMaximum": True})


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "strng"}, "strng"),
        ({"properties": 5}, "'properties' cannot be 5"),
        ({"required": [1]}, "'required' holds what is no text"),
        ({"allOf": [7]}, "'allOf' holds what is no schema: 7"),
        ({"multipleOf": 0}, "'multipleOf' is not above zero"),
        ({"pattern": "("}, "regex"),
        ({"$schema": "http://example.com/own"}, "the draft 'http://example.com/own' is not known"),
        ({"$ref": "#/definitions/none"}, "the reference '#/definitions/none' leads nowhere"),
        ({"$ref": "#/x", "x": {"properties": 5}}, "'properties' cannot be 5"),
        ({"$ref": "#"}, "leads in a circle"),
        ([], "a JSON Schema is an object or a boolean"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_reason(schema: Any, reason: str) -> None:
    with pytest.raises(InvalidSchema) as refusal:
        _parsed(schema)
    assert reason in str(refusal.value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/x", "file:///etc/hostname", "other.json", "https://a.b/c#/d"])
def test_nothing_is_fetched_from_anywhere(address: str) -> None:
    with pytest.raises(InvalidSchema, match="leads nowhere"):
        _parsed({"$ref": address})


@pytest.mark.parametrize("own", [{}, {"$id": "http://example.com/schemas/order.json"}])
def test_a_reference_is_found_by_its_name(own: dict[str, Any]) -> None:
    city = ResolvedReference("city.json", "city", 1, '{"type":"string"}')
    address_text = '{"properties":{"city":{"$ref":"city.json"}},"definitions":{"zip":{"type":"integer"}}}'
    address = ResolvedReference("address.json", "address", 2, address_text, (city,))
    order = _parsed(
        {**own, "properties": {"to": {"$ref": "address.json"}, "zip": {"$ref": "address.json#/definitions/zip"}}},
        address,
    )
    order.validator()(b'{"to":{"city":"Oslo"},"zip":1}')
    for payload, path in ((b'{"to":{"city":3}}', "to.city"), (b'{"zip":"x"}', "zip")):
        with pytest.raises(InvalidPayload) as refusal:
            order.validator()(payload)
        assert refusal.value.path == path
    changed = _parsed({"properties": {"to": {"properties": {"city": {"type": "integer"}}}, "zip": {}}})
    assert changed.incompatibilities(order)[0].startswith("TYPE_CHANGED at #/properties/to/properties/city")


def test_a_reference_is_found_by_what_it_calls_itself() -> None:
    address = ResolvedReference("a", "address", 1, '{"$id":"http://example.com/address.json","type":"integer"}')
    order = _parsed({"properties": {"to": {"$ref": "http://example.com/address.json"}}}, address)
    with pytest.raises(InvalidPayload):
        order.validator()(b'{"to":"x"}')


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b'{"id":"x","lines":[]}', 'id: "x" is not of type "integer"'),
        (b'{"id":1,"lines":[{"price":1},{"price":-1}]}', "lines[1].price: -1 is less than the minimum of 0"),
        (b'{"lines":[]}', '"id" is a required property'),
        (b"{", "not JSON: "),
        (b"\xff", "not JSON: "),
        (b"", "not JSON: "),
        (b"[" * 100_000, "nested more than 200 levels deep"),
        (b"[" * 300 + b"]" * 300, "nested more than 200 levels deep"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_field_at_fault(payload: bytes, reason: str) -> None:
    line = {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}}
    properties = {"id": {"type": "integer"}, "lines": {"type": "array", "items": line}}
    order = _parsed({"type": "object", "properties": properties, "required": ["id"]})
    order.validator()(b'{"id":1,"lines":[{"price":1}]}')
    with pytest.raises(InvalidPayload) as refusal:
        order.validator()(payload)
    assert str(refusal.value).startswith(reason)


def test_a_reason_does_not_repeat_a_long_payload() -> None:
    with pytest.raises(InvalidPayload) as refusal:
        _parsed({"type": "integer"}).validator()(b'"' + b"x" * 100_000 + b'"')
    assert len(str(refusal.value)) < 400
    assert str(refusal.value).endswith('is not of type "integer"')


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(?=a)(a|a)*\\1?$(?!x)"])
def test_an_expression_cannot_take_long(pattern: str) -> None:
    """The test's own time limit is what it would run into."""
    with pytest.raises(InvalidPayload):
        _parsed({"pattern": pattern}).validator()(b'"' + b"a" * 50_000 + b'b"')


def test_expressions_that_look_ahead_work() -> None:
    schema = _parsed({"pattern": "^(?!foo)b"})
    schema.validator()(b'"bar"')
    with pytest.raises(InvalidPayload):
        schema.validator()(b'"foob"')


def test_a_schema_that_looks_at_a_value_too_often_is_refused() -> None:
    twice = {
        f"d{number}": {"allOf": [{"$ref": f"#/definitions/d{number + 1}"}, {"$ref": f"#/definitions/d{number + 1}"}]}
        for number in range(60)
    }
    with pytest.raises(InvalidSchema, match="more than 10000 times"):
        _parsed({"$ref": "#/definitions/d0", "definitions": {**twice, "d60": {"type": "integer"}}})


@pytest.mark.parametrize("levels", [12, 17, 40, 190])
def test_a_schema_that_multiplies_its_work_with_every_level_cannot_take_long(levels: int) -> None:
    schema = _parsed({"type": "array", "anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]})
    with pytest.raises(InvalidPayload):
        schema.validator()(b"[" * levels + b"1" + b"]" * levels)
    schema.validator()(b"[[[]]]")


def test_a_large_payload_is_not_held_against_very_many_alternatives() -> None:
    check = _parsed({"items": {"allOf": [{"minimum": 0}] * 4000}}).validator()
    check(b"[1, 2, 3]")
    with pytest.raises(InvalidPayload, match="looks at more than"):
        check(b"[" + b"1," * 20_000 + b"1]")


def test_a_schema_that_contains_itself_takes_what_is_deep() -> None:
    value = {"anyOf": [{"type": "number"}, {"items": {"$ref": "#"}}, {"additionalProperties": {"$ref": "#"}}]}
    _parsed(value).validator()(b'[{"a":' * 60 + b"1" + b"}]" * 60)


@pytest.mark.parametrize("pattern", ["(a{1,50}){1,50}", r"\w{1,100}", "[^a]{90}"])
def test_expressions_that_grow_too_large_together_are_refused(pattern: str) -> None:
    _parsed({"pattern": pattern})
    with pytest.raises(InvalidSchema, match="expressions that are too large"):
        _parsed({"patternProperties": {f"{pattern}{number}": {} for number in range(200)}})


def test_many_ordinary_expressions_are_taken() -> None:
    uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
    _parsed({"properties": {f"p{number}": {"pattern": uuid} for number in range(500)}})


@pytest.mark.parametrize("text", ['{"allOf":[{"$ref":"#/allOf/%s"}]}' % ("9" * 5000), '{"maximum":1%s}' % ("0" * 400)])
def test_numbers_that_are_too_long_are_the_callers_fault(text: str) -> None:
    with pytest.raises(InvalidSchema):
        FORMAT.parse(text)


def test_a_payload_is_shown_as_it_is() -> None:
    assert _parsed({}).to_json(b'{"a":[1,null]}') == {"a": [1, None]}
