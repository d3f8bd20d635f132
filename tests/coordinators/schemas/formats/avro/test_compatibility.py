"""Whether readers can read what writers wrote: by verdicts of Avro's Java library, and by writing and reading."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.format import InvalidSchema

VERDICTS = [json.loads(line) for line in (Path(__file__).parent / "java_verdicts.jsonl").read_text().splitlines()]


def _verdict(reader: Any, writer: Any) -> str:
    try:
        reading, writing = FORMAT.parse(json.dumps(reader)), FORMAT.parse(json.dumps(writer))
    except InvalidSchema:
        return "INVALID"
    return "INCOMPATIBLE" if reading.incompatibilities(writing) else "COMPATIBLE"


def test_it_agrees_with_javas_library_on_every_pair() -> None:
    """The verdicts are those of org.apache.avro 1.12.0 on pairs made at random; all three kinds are among them."""
    assert {each["verdict"] for each in VERDICTS} == {"COMPATIBLE", "INCOMPATIBLE", "INVALID"}
    assert len(VERDICTS) > 250
    wrong = [each for each in VERDICTS if _verdict(each["reader"], each["writer"]) != each["verdict"]]
    assert wrong == []


def _record(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "fields": list(fields), **more}


A_STRING = {"name": "a", "type": "string"}


@pytest.mark.parametrize(
    ("reader", "writer", "reason"),
    [
        (_record(A_STRING, {"name": "b", "type": "int"}), _record(A_STRING), "READER_FIELD_MISSING_DEFAULT_VALUE"),
        ("int", "long", "TYPE_MISMATCH"),
        (["null", "int"], ["null", "string"], "MISSING_UNION_BRANCH"),
        (
            {"type": "enum", "name": "E", "symbols": ["A"]},
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            "MISSING_ENUM_SYMBOLS",
        ),
        (
            {"type": "fixed", "name": "F", "size": 1},
            {"type": "fixed", "name": "F", "size": 2},
            "FIXED_SIZE_MISMATCH",
        ),
        (_record(A_STRING), {**_record(A_STRING), "name": "Bill"}, "NAME_MISMATCH"),
    ],
)
def test_the_reason_is_named(reader: Any, writer: Any, reason: str) -> None:
    (told,) = FORMAT.parse(json.dumps(reader)).incompatibilities(FORMAT.parse(json.dumps(writer)))
    assert told.startswith(f"{reason} at /")


def test_the_reason_says_where() -> None:
    reader = _record({"name": "lines", "type": {"type": "array", "items": "int"}})
    writer = _record({"name": "lines", "type": {"type": "array", "items": "string"}})
    (told,) = FORMAT.parse(json.dumps(reader)).incompatibilities(FORMAT.parse(json.dumps(writer)))
    assert told == "TYPE_MISMATCH at /fields/0/type/items/: a reader of int cannot read string"


def test_types_that_contain_themselves_come_to_an_end() -> None:
    node = FORMAT.parse(json.dumps(_record({"name": "next", "type": ["null", "Order"]})))
    assert node.incompatibilities(node) == []


def _cycle(length: int) -> str:
    """A record that contains itself after so many others, the last of a chain."""
    inner: Any = "R0"
    for number in reversed(range(length)):
        inner = {"type": "record", "name": f"R{number}", "fields": [{"name": "f", "type": ["null", inner]}]}
    return json.dumps(inner)


def test_schemas_too_intertwined_are_called_incompatible() -> None:
    aliases = [f"R{number}" for number in range(40)]
    reader = json.loads(_cycle(39))
    current = reader
    while isinstance(current, dict):
        current["aliases"] = aliases
        current = current["fields"][0]["type"][1]
    told = FORMAT.parse(json.dumps(reader)).incompatibilities(FORMAT.parse(_cycle(40)))
    assert told == ["TOO_COMPLEX: the two schemas are too intertwined to be compared"]


def test_reasons_do_not_multiply() -> None:
    """Each record uses the one below it twice: told apart, the one difference would be 2^30 reasons."""

    def pyramid(base: str) -> str:
        below: Any = base
        for number in range(30):
            first = {"name": "a", "type": below}
            second = {"name": "b", "type": below if isinstance(below, str) else below["name"]}
            below = {"type": "record", "name": f"P{number}", "fields": [first, second]}
        return json.dumps(below)

    told = FORMAT.parse(pyramid("int")).incompatibilities(FORMAT.parse(pyramid("string")))
    assert 1 <= len(told) <= 100


# -- evolution: what both ways of compatibility allow can be read

_NAMES = ("a", "b", "c", "d")
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=10),
    "bytes": st.binary(max_size=10),
    "boolean": st.booleans(),
}
_DEFAULTS = {"int": 7, "long": 8, "double": 0.5, "string": "-", "bytes": "-", "boolean": True}


@st.composite
def _schemas(draw: st.DrawFn) -> dict[str, Any]:
    fields = []
    for name in draw(st.lists(st.sampled_from(_NAMES), unique=True)):
        kind = draw(st.sampled_from(sorted(_VALUES)))
        shape = draw(st.sampled_from(("plain", "optional", "array")))
        described: Any = {"plain": kind, "optional": ["null", kind], "array": {"type": "array", "items": kind}}[shape]
        each = {"name": name, "type": described}
        if draw(st.booleans()):
            each["default"] = {"plain": _DEFAULTS[kind], "optional": None, "array": []}[shape]
        fields.append(each)
    return _record(*fields)


def _value(draw: st.DrawFn, described: Any) -> Any:
    if isinstance(described, list):
        return draw(st.none() | _VALUES[described[1]])
    if isinstance(described, dict):
        return draw(st.lists(_VALUES[described["items"]], max_size=3))
    return draw(_VALUES[described])


@st.composite
def _evolutions(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Versions of which each is compatible both ways with all before it, and a value of each."""
    kept: list[Any] = []
    for candidate in draw(st.lists(_schemas(), min_size=2, max_size=8)):
        parsed = FORMAT.parse(json.dumps(candidate))
        if all(not parsed.incompatibilities(old) and not old.incompatibilities(parsed) for old, _ in kept):
            kept.append((parsed, candidate))
    values = [{each["name"]: _value(draw, each["type"]) for each in schema["fields"]} for _, schema in kept]
    return [schema for _, schema in kept], values


@settings(max_examples=60, deadline=None)
@given(_evolutions())
def test_what_full_compatibility_accepts_decodes_the_data_of_every_other_version(
    evolution: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    schemas, values = evolution
    for writer, value in zip(schemas, values, strict=True):
        stream = BytesIO()
        fastavro.schemaless_writer(stream, writer, value)
        FORMAT.parse(json.dumps(writer)).validator()(stream.getvalue())
        for reader in schemas:
            stream.seek(0)
            read = fastavro.schemaless_reader(stream, writer, reader)
            assert set(read) == {each["name"] for each in reader["fields"]}
