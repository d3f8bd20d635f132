"""Which changes of a Protobuf schema are compatible: a table of known cases, and by reading what was written."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.schemas.formats.protobuf.schema import FORMAT

VERDICTS = [json.loads(line) for line in (Path(__file__).parent / "buf_verdicts.jsonl").read_text().splitlines()]
STRICTER_IN_BUF = {
    "ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED",
    "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED",
    "FIELD_SAME_ONEOF",
    "FIELD_WIRE_COMPATIBLE_CARDINALITY",
    "FIELD_WIRE_COMPATIBLE_TYPE",
}
"""Rules of `buf breaking` that may refuse what is allowed here; docs/schemas.md says why."""
HEAD = 'syntax = "proto3"; package shop; '


def _told(reader: str, writer: str) -> list[str]:
    return FORMAT.parse(reader).incompatibilities(FORMAT.parse(writer))


def _message(body: str) -> str:
    return f"{HEAD} message M {{ {body} }} message N {{ int32 x = 1; }} enum E {{ ZERO = 0; }}"


COMPATIBLE = [
    ("field added", "int32 a = 1; int32 b = 2;", "int32 a = 1;"),
    ("field removed", "int32 a = 1;", "int32 a = 1; int32 b = 2;"),
    ("field renamed", "int32 b = 1;", "int32 a = 1;"),
    ("scalars written alike", "int64 a = 1; bool b = 2; sint64 c = 3;", "uint32 a = 1; int32 b = 2; sint32 c = 3;"),
    ("fixed of either sign", "sfixed32 a = 1; fixed64 b = 2;", "fixed32 a = 1; sfixed64 b = 2;"),
    ("text to bytes", "bytes a = 1;", "string a = 1;"),
    ("text repeated", "repeated string a = 1;", "string a = 1;"),
    ("nested message added", "message I { int32 x = 1; } int32 a = 1;", "int32 a = 1;"),
    ("one field into a new oneof", "oneof o { int32 a = 1; }", "int32 a = 1;"),
    ("oneof removed", "int32 a = 1;", "oneof o { int32 a = 1; }"),
    ("field added to a oneof", "oneof o { int32 a = 1; int32 b = 2; }", "oneof o { int32 a = 1; }"),
    ("oneof renamed", "oneof p { int32 a = 1; int32 b = 2; }", "oneof o { int32 a = 1; int32 b = 2; }"),
    (
        "one field and a new one into a new oneof",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "int32 a = 1;",
    ),
    ("optional", "optional int32 a = 1;", "int32 a = 1;"),
    ("itself", "M m = 1; map<string, N> n = 2;", "M m = 1; map<string, N> n = 2;"),
]

INCOMPATIBLE = [
    ("FIELD_SCALAR_KIND_CHANGED", "string a = 1;", "int32 a = 1;"),
    ("FIELD_SCALAR_KIND_CHANGED", "sint32 a = 1;", "int32 a = 1;"),
    ("FIELD_SCALAR_KIND_CHANGED", "float a = 1;", "double a = 1;"),
    ("FIELD_KIND_CHANGED", "N a = 1;", "int32 a = 1;"),
    ("FIELD_KIND_CHANGED", "E a = 1;", "int32 a = 1;"),
    ("FIELD_KIND_CHANGED", "map<string, N> a = 1;", "N a = 1;"),
    ("FIELD_SCALAR_KIND_CHANGED", "map<string, string> a = 1;", "map<string, int32> a = 1;"),
    ("FIELD_NAMED_TYPE_CHANGED", "N a = 1;", "M a = 1;"),
    ("FIELD_NUMERIC_LABEL_CHANGED", "repeated int32 a = 1;", "int32 a = 1;"),
    ("FIELD_NUMERIC_LABEL_CHANGED", "repeated E a = 1;", "E a = 1;"),
    ("MESSAGE_REMOVED", "int32 a = 1;", "message I { int32 x = 1; } int32 a = 1;"),
    ("MULTIPLE_FIELDS_MOVED_TO_ONEOF", "oneof o { int32 a = 1; int32 b = 2; }", "int32 a = 1; int32 b = 2;"),
    (
        "FIELDS_MOVED_TO_EXISTING_ONEOF",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "int32 a = 1; oneof o { int32 b = 2; }",
    ),
    (
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "oneof p { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } int32 b = 2;",
    ),
    (
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "oneof q { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
    ),
    (
        "FIELDS_MOVED_TO_EXISTING_ONEOF",
        "oneof p { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
    ),
    ("ONEOF_FIELD_REMOVED", "oneof o { int32 a = 1; }", "oneof o { int32 a = 1; int32 b = 2; }"),
    (
        "FIELD_SCALAR_KIND_CHANGED",
        "message I { string x = 1; } I i = 1;",
        "message I { int32 x = 1; } I i = 1;",
    ),
]


@pytest.mark.parametrize(("reader", "writer"), [each[1:] for each in COMPATIBLE], ids=[each[0] for each in COMPATIBLE])
def test_compatible_changes(reader: str, writer: str) -> None:
    assert _told(_message(reader), _message(writer)) == []


@pytest.mark.parametrize(("word", "reader", "writer"), INCOMPATIBLE)
def test_incompatible_changes_are_named(word: str, reader: str, writer: str) -> None:
    assert word in {reason.split()[0] for reason in _told(_message(reader), _message(writer))}


def test_it_agrees_with_buf_but_for_what_is_meant_to_differ() -> None:
    """The verdicts are those of buf 1.74.0 (WIRE) on pairs made at random."""
    assert {bool(each["rules"]) for each in VERDICTS} == {True, False}
    for each in VERDICTS:
        words, rules = {told.split()[0] for told in _told(each["newer"], each["older"])}, set(each["rules"])
        if words and not rules:
            assert words == {"MESSAGE_REMOVED"}, each
        elif rules and not words:
            assert rules <= STRICTER_IN_BUF, each


def test_a_package_or_a_message_cannot_go() -> None:
    assert _told('syntax = "proto3"; package other; message M {}', f"{HEAD} message M {{}}")[0].startswith(
        "PACKAGE_CHANGED at #/: shop has become other"
    )
    assert _told(f"{HEAD} message N {{}}", f"{HEAD} message M {{}}")[0].startswith("MESSAGE_REMOVED at #/M")


def test_required_fields_stay_as_they_are() -> None:
    plain, required = (f'syntax = "proto2"; message M {{ {label} int32 a = 1; }}' for label in ("optional", "required"))
    bare = 'syntax = "proto2"; message M {}'
    for reader, writer, word in (
        (required, plain, "REQUIRED_FIELD_ADDED"),
        (plain, required, "REQUIRED_FIELD_REMOVED"),
        (required, bare, "REQUIRED_FIELD_ADDED"),
        (bare, required, "REQUIRED_FIELD_REMOVED"),
    ):
        assert _told(reader, writer)[0].startswith(word)


def test_the_reason_says_where() -> None:
    (told,) = _told(_message("string a = 7;"), _message("int32 a = 7;"))
    assert told == "FIELD_SCALAR_KIND_CHANGED at #/M/7: a is string, and was int32"


# -- evolution: what both ways of compatibility allow can be read

_TYPES = ("int32", "int64", "uint32", "bool", "sint32", "sint64", "fixed32", "sfixed32", "string", "double")


@st.composite
def _bodies(draw: st.DrawFn) -> str:
    fields = []
    for number in draw(st.lists(st.integers(1, 5), unique=True, max_size=4)):
        label = draw(st.sampled_from(("", "", "repeated ", "optional ")))
        fields.append(f"{label}{draw(st.sampled_from(_TYPES))} f{number} = {number};")
    return " ".join(fields)


def _values(schema: Any) -> Any:
    message = schema._class([0])()
    for each in message.DESCRIPTOR.fields:
        value: Any = {each.CPPTYPE_STRING: "héllo", each.CPPTYPE_BOOL: True}.get(each.cpp_type, 1)
        if each.is_repeated:
            getattr(message, each.name).extend([value, value])
        else:
            setattr(message, each.name, value)
    return message


@settings(max_examples=60, deadline=None)
@given(st.lists(_bodies(), min_size=2, max_size=6))
def test_what_full_compatibility_accepts_decodes_the_data_of_every_other_version(bodies: list[str]) -> None:
    """Known fields arrive with their values, whichever version reads."""
    kept: list[Any] = []
    for body in bodies:
        schema = FORMAT.parse(f"{HEAD} message M {{ {body} }}")
        if all(not schema.incompatibilities(old) and not old.incompatibilities(schema) for old in kept):
            kept.append(schema)
    for writer in kept:
        written = _values(writer)
        payload = b"\x00" + written.SerializeToString()
        for reader in kept:
            reader.validator()(payload)
            read = reader._read(payload)
            for each in read.DESCRIPTOR.fields:
                before = written.DESCRIPTOR.fields_by_number.get(each.number)
                if before is not None and not each.is_repeated and not before.is_repeated:
                    assert getattr(read, each.name) == getattr(written, before.name)
