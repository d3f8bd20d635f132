"""Which texts are Avro schemas, and what is refused with which reason."""

import json
from typing import Any

import pytest

from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.format import InvalidSchema, ResolvedReference


def _record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("money", "no type is called 'money' here"),
        ({"type": "record", "fields": []}, "record has no 'name'"),
        ({"type": "record", "name": "R"}, "record R has no 'fields'"),
        (_record({"name": "a"}), "the field 'a' of R has no 'type'"),
        (_record({"name": "a", "type": "int"}, {"name": "a", "type": "int"}), "two fields of R are called 'a'"),
        (_record({"name": "1a", "type": "int"}), "not a name: '1a'"),
        (_record({"name": "a", "type": "int", "default": "x"}), "the default of the field 'a' of R is no int"),
        (_record({"name": "a", "type": "int", "default": 1 << 31}), "the default of the field 'a' of R is no int"),
        (_record({"name": "a", "type": "int", "order": "up"}), "the field 'a' of R has the order 'up'"),
        (_record({"name": "a", "type": "money"}), "no type is called 'money' here, in the field 'a' of R"),
        ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "two symbols of E are 'A'"),
        ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, "the default of E, 'B', is none of its symb"),
        ({"type": "fixed", "name": "F", "size": -1}, "fixed F has the size -1"),
        ({"type": "array"}, "array has no 'items'"),
        (["int", ["null"]], "a union directly within a union"),
        (["int", "int"], "a union with 'int' twice"),
        (_record(name="int"), "'int' is the name of a type of Avro's own"),
        (_record(name="a..b"), "not a name: ''"),
        (7, "not a type: 7"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_reason(schema: Any, reason: str) -> None:
    with pytest.raises(InvalidSchema) as refusal:
        FORMAT.parse(json.dumps(schema))
    assert reason in str(refusal.value)


def test_a_type_cannot_be_defined_twice() -> None:
    twice = _record({"name": "a", "type": _record(name="S")}, {"name": "b", "type": _record(name="S")})
    with pytest.raises(InvalidSchema, match="S is defined twice"):
        FORMAT.parse(json.dumps(twice))


def test_what_is_not_json_is_refused() -> None:
    for text in ("", "{", "NaN", '{"a": 1e', "[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(InvalidSchema):
            FORMAT.parse(text)


def test_depth_is_bounded_however_it_is_written() -> None:
    nested: Any = "int"
    for _ in range(101):
        nested = {"type": "array", "items": nested}
    with pytest.raises(InvalidSchema, match="levels deep"):
        FORMAT.parse(json.dumps(nested))
    by_name = [{"name": "f0", "type": _record(name="R0")}]
    for number in range(1, 101):
        inner = {"name": "x", "type": f"R{number - 1}"}
        by_name.append({"name": f"f{number}", "type": _record(inner, name=f"R{number}")})
    with pytest.raises(InvalidSchema, match="levels deep"):
        FORMAT.parse(json.dumps(_record(*by_name, name="Top")))


def test_size_is_bounded() -> None:
    with pytest.raises(InvalidSchema, match="longer than 1048576 bytes"):
        FORMAT.parse(json.dumps({"type": "int", "doc": "x" * (1 << 20)}))


def test_a_reference_lends_its_types() -> None:
    address = ResolvedReference("shop.Address", "address", 1, json.dumps(_record(name="shop.Address")))
    customer_text = json.dumps(_record({"name": "home", "type": "shop.Address"}, name="shop.Customer"))
    customer = ResolvedReference("shop.Customer", "customer", 1, customer_text, (address,))
    order = FORMAT.parse(json.dumps(_record({"name": "who", "type": "shop.Customer"}, name="Order")), [customer])
    assert order.canonical == '{"type":"record","name":"Order","fields":[{"name":"who","type":"shop.Customer"}]}'
    with pytest.raises(InvalidSchema, match=r"no type is called 'shop\.Address' here"):
        FORMAT.parse(customer_text)


def test_a_default_may_leave_out_what_has_defaults_itself() -> None:
    """Also where the record contains itself."""
    node = _record({"name": "n", "type": "int", "default": 1}, {"name": "next", "type": ["null", "R"], "default": None})
    FORMAT.parse(json.dumps(_record({"name": "node", "type": node, "default": {}}, name="Top")))
    own = _record({"name": "own", "type": "R", "default": {}})
    FORMAT.parse(json.dumps(own))


def test_a_default_that_is_beyond_any_number_is_the_callers_fault() -> None:
    with pytest.raises(InvalidSchema, match="beyond what a number can be"):
        FORMAT.parse('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":1e999}]}')


def test_defaults_that_unions_could_take_in_countless_ways_are_refused() -> None:
    """Each level of the value could be either of two records: sixty levels are 2^60 ways to fail."""
    inner = _record({"name": "f", "type": ["int", "X", "Y"]}, name="Y")
    union = [_record({"name": "f", "type": ["int", "X", inner]}, name="X"), "Y"]
    default: Any = "neither a number nor a record"
    for _ in range(60):
        default = {"f": default}
    with pytest.raises(InvalidSchema, match="too many ways"):
        FORMAT.parse(json.dumps(_record({"name": "u", "type": union, "default": default})))
    FORMAT.parse(json.dumps(_record({"name": "u", "type": union, "default": {"f": {"f": 1}}})))
