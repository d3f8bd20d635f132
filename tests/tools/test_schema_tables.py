"""Schemas of all versions become one table, from which each can be had again."""

import pytest

from tools.schema_tables import merged, table_module
from wire.kafka.codec.rows import FieldRow, StructRows
from wire.kafka.codec.schema import FieldSchema, StructSchema, at_version


def member(name: str, *, nullable: bool = False, struct: StructSchema | None = None) -> FieldSchema:
    return FieldSchema(name, "struct" if struct else "string", False, nullable, None, None, struct)


def struct(*members: FieldSchema, flexible: bool = False) -> StructSchema:
    return StructSchema("Thing", flexible, members)


def test_fields_keep_the_order_of_every_version() -> None:
    schemas = {0: struct(member("a"), member("gone"), member("c")), 1: struct(member("a"), member("b"), member("c"))}
    table = merged(schemas)
    assert [row.name for row in table.rows] in (["a", "gone", "b", "c"], ["a", "b", "gone", "c"])
    assert {version: at_version(table, version, flexible=False) for version in schemas} == schemas


def test_a_field_that_changes_gets_a_row_for_each_run_of_versions() -> None:
    schemas = {version: struct(member("a", nullable=version >= 2)) for version in range(4)}
    assert merged(schemas).rows == (FieldRow("a", "string", 0, 1), FieldRow("a", "string", 2, 3, nullable=True))


def test_a_field_that_was_away_gets_two_rows() -> None:
    schemas = {0: struct(member("a")), 1: struct(), 2: struct(member("a"))}
    assert [(row.first_version, row.last_version) for row in merged(schemas).rows] == [(0, 0), (2, 2)]


def test_nested_structs_are_merged_too() -> None:
    schemas = {0: struct(member("s", struct=struct(member("x")))), 1: struct(member("s", struct=struct(member("y"))))}
    (row,) = merged(schemas).rows
    assert row.struct is not None
    assert {(inner.name, inner.first_version) for inner in row.struct.rows} == {("x", 0), ("y", 1)}


def test_the_module_holds_both_tables() -> None:
    schemas = {0: struct(member("a")), 1: struct(member("a", nullable=True), flexible=True)}
    names: dict[str, StructRows] = {}
    exec(table_module("Thing", 1, {"request": schemas, "response": {0: schemas[0]}}), {}, names)
    assert names["REQUEST"] == merged(schemas)
    assert names["RESPONSE"] == merged({0: schemas[0]})


def test_what_a_table_cannot_tell_is_refused() -> None:
    with pytest.raises(SystemExit, match="Thing v0 cannot be told by a table"):
        table_module("Thing", 1, {"request": {0: struct(member("a"), flexible=True)}})
