"""Names of types, wherever they are defined."""

import pytest

from coordinators.schemas.formats.format import InvalidSchema, ResolvedReference
from coordinators.schemas.formats.protobuf.files import ProtobufFiles

HEAD = 'syntax = "proto3"; package a.b;'


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("Inner", ".a.b.Outer.Inner"),
        ("Outer.Inner", ".a.b.Outer.Inner"),
        ("b.Other", ".a.b.Other"),
        (".a.b.E", ".a.b.E"),
    ],
)
def test_a_name_is_sought_from_the_inside_outwards(named: str, found: str) -> None:
    outer = f"message Outer {{ message Inner {{}} {named} x = 1; }}"
    text = f"{HEAD} {outer} message Other {{}} message Inner {{}} enum E {{ Z = 0; }}"
    assert ProtobufFiles.read(text, ()).root.message_type[0].field[0].type_name == found


def test_two_definitions_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidSchema):
        ProtobufFiles.read(f"{HEAD} message M {{}} message M {{}}", ())


def test_what_a_reference_does_not_define_is_not_there() -> None:
    reference = ResolvedReference("other.proto", "other", 1, f"{HEAD} message Other {{}}")
    text = f'{HEAD} import "other.proto"; message M {{ Missing x = 1; }}'
    with pytest.raises(InvalidSchema, match="no type is called 'Missing' here"):
        ProtobufFiles.read(text, (reference,))
