"""A table of rows says of each version which fields it has, and what they are like there."""

from wire.kafka.codec.rows import FieldRow, StructRows
from wire.kafka.codec.schema import FieldSchema, StructSchema, at_version

INNER = StructRows("Inner", (FieldRow("old", "int8", 0, 1, 0), FieldRow("new", "int8", 2, 3, -1)))
TABLE = StructRows(
    "Outer",
    (
        FieldRow("name", "string", 0, 1, ""),
        FieldRow("name", "string", 2, 3, nullable=True),
        FieldRow("parts", "struct", 1, 3, [], is_array=True, struct=INNER),
        FieldRow("extra", "int32", 3, 3, 0, tag=7),
    ),
)


def names(version: int) -> list[str]:
    return [member.name for member in at_version(TABLE, version, flexible=False).fields]


def test_a_field_is_there_from_its_first_version_to_its_last() -> None:
    assert [names(version) for version in range(5)] == [
        ["name"],
        ["name", "parts"],
        ["name", "parts"],
        ["name", "parts", "extra"],
        [],
    ]


def test_a_field_that_changes_is_what_the_row_of_the_version_says() -> None:
    assert [at_version(TABLE, version, flexible=False).fields[0].nullable for version in range(4)] == [
        False,
        False,
        True,
        True,
    ]


def test_nested_structs_are_of_the_same_version_and_flexibility() -> None:
    last = FieldSchema("new", "int8", False, False, None, -1)
    nested = at_version(TABLE, 3, flexible=True).fields[1].struct
    assert nested == StructSchema("Inner", True, (last,))


def test_a_tagged_field_keeps_its_tag() -> None:
    assert [member.tag for member in at_version(TABLE, 3, flexible=True).tagged] == [7]
