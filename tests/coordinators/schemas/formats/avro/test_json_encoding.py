"""Values in Avro's own JSON, written as bytes and read back; fastavro reads the same."""

import json
import math
from io import BytesIO
from typing import Any

import fastavro
import pytest

from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.format import InvalidPayload

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "paid", "type": "boolean"},
        {"name": "price", "type": "double"},
        {"name": "ratio", "type": "float"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
        {"name": "raw", "type": "bytes"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
        {"name": "next", "type": ["null", "Order"], "default": None},
        {"name": "unit", "type": ["string", "null"], "default": "kg"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
    ],
}
INNER = {
    "id": -1,
    "paid": False,
    "price": "NaN",
    "ratio": "-Infinity",
    "note": None,
    "hash": "\u00ff\u0000",
    "raw": "",
    "kind": "OLD",
    "lines": [],
    "next": None,
    "unit": None,
    "day": -7,
}
VALUE = {
    "id": 2**62,
    "paid": True,
    "price": 0.1,
    "ratio": 0.5,
    "note": {"string": "grün"},
    "hash": "ab",
    "raw": "\u0000\u00fe",
    "kind": "NEW",
    "lines": [{"a": 1, "b": -2}, {}],
    "next": {"shop.Order": INNER},
    "unit": {"string": "g"},
    "day": 20_000,
}


def schema(described: Any) -> Any:
    return FORMAT.parse(json.dumps(described))


def test_what_is_written_is_read_the_same() -> None:
    order = schema(ORDER)
    written = order.from_json(VALUE)
    assert order.to_exact_json(written) == VALUE
    order.validator()(written)


def test_fastavro_reads_it_so() -> None:
    read: Any = fastavro.schemaless_reader(BytesIO(schema(ORDER).from_json(VALUE)), ORDER, None)
    assert (read["id"], read["note"], read["hash"], read["raw"]) == (2**62, "grün", b"ab", b"\x00\xfe")
    assert math.isnan(read["next"]["price"])
    assert read["next"]["ratio"] == -math.inf


def test_defaults_and_the_names_of_branches_may_be_left_out() -> None:
    given = {name: value for name, value in VALUE.items() if name not in ("next", "unit", "day")} | {"note": "plain"}
    order = schema(ORDER)
    found = order.to_exact_json(order.from_json(given))
    assert (found["note"], found["next"], found["unit"], found["day"]) == (
        {"string": "plain"},
        None,
        {"string": "kg"},
        0,
    )


@pytest.mark.parametrize(
    ("member", "value", "told"),
    [
        ("id", "7", "id: text is no long"),
        ("id", 2**63, "id: 9223372036854775808 is no long of 64 bits"),
        ("id", True, "id: a boolean is no long"),
        ("paid", 1, "paid: a number is no boolean"),
        ("ratio", 1e300, "ratio: 1e+300 is no float"),
        ("note", {"int": 1}, "note: none of the union's branches (null, string) takes it"),
        ("hash", "abc", "hash: 3 bytes where 2 are expected"),
        ("raw", "€", "raw: bytes are text of the characters U+0000 to U+00FF"),
        ("kind", "NONE", "kind: 'NONE' is none of NEW, OLD"),
        ("lines", [{}, {"a": None}], "lines[1]['a']: null is no int"),
        ("other", 1, "other: record shop.Order has no such field"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(member: str, value: Any, told: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        schema(ORDER).from_json({**VALUE, member: value})
    assert str(refused.value) == told


def test_what_is_missing_and_what_is_too_deep_is_refused() -> None:
    with pytest.raises(InvalidPayload, match="kind: is missing and has no default"):
        schema(ORDER).from_json({name: value for name, value in VALUE.items() if name != "kind"})
    node = schema({"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]})
    value: Any = None
    for _ in range(300):
        value = {"N": {"n": value}}
    with pytest.raises(InvalidPayload, match="levels deep"):
        node.from_json(value["N"])


def record(name: str, *fields: tuple[str, Any, Any]) -> dict[str, Any]:
    described = [{"name": field, "type": kind, "default": default} for field, kind, default in fields]
    return {"type": "record", "name": name, "fields": described}


def test_a_default_of_a_union_is_of_the_branch_that_it_fits() -> None:
    order = schema(record("N", ("n", ["int", "string"], "kg")))
    assert order.to_exact_json(order.from_json({})) == {"n": {"string": "kg"}}


def test_a_default_that_holds_itself_is_refused() -> None:
    with pytest.raises(InvalidPayload, match="hold themselves"):
        schema(record("N", ("n", "N", {}))).from_json({})


def test_a_value_that_could_be_written_in_countless_ways_is_refused() -> None:
    inner = record("Y", ("f", ["int", "X", "Y"], 0))
    union = [record("X", ("f", ["int", "X", inner], 0)), "Y"]
    value: Any = "neither a number nor a record"
    for _ in range(60):
        value = {"f": value}
    read = schema({"type": "array", "items": union})
    assert read.from_json([{"f": {"f": 1}}])
    with pytest.raises(InvalidPayload, match="too many ways"):
        read.from_json([value])


def test_defaults_that_multiply_with_each_level_are_refused() -> None:
    nested = record("N0", ("a", "int", 0))
    for level in range(1, 40):
        nested = record(f"N{level}", ("a", nested, {}), ("b", f"N{level - 1}", {}))
    with pytest.raises(InvalidPayload, match="too many ways"):
        schema(nested).from_json({})
