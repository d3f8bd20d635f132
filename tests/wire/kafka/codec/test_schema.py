"""Our reading of kio's schemas says what Apache Kafka's own message definitions say."""

import re
from typing import Any

import pytest

from tests.wire.kafka.codec.kafka_definitions import definition as kafka_definition
from tools.generate_messages import APIS, DIRECTIONS
from tools.own_fields import is_own
from wire.kafka.codec import WireError
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.schema import Direction, FieldSchema, StructSchema, load_schema

NOT_IN_KAFKA_PYTHON = (58, 59, 63, 68, 69, 74, *range(76, 80), *range(83, 93))
DEFINED = [
    (key, direction)
    for key, entry in API_TABLE.items()
    if entry.module in APIS and key not in NOT_IN_KAFKA_PYTHON
    for direction in DIRECTIONS
]


def versions(text: str | None) -> range:
    if text is None or text == "none":
        return range(0)
    first, _, last = text.partition("-")
    if text.endswith("+"):
        return range(int(text[:-1]), 1000)
    return range(int(first), int(last or first) + 1)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def defined_fields(definition: list[dict[str, Any]], version: int) -> list[tuple[Any, ...]]:
    return [describe(member, version) for member in definition if version in versions(member["versions"])]


def describe(member: dict[str, Any], version: int) -> tuple[Any, ...]:
    is_array = member["type"].startswith("[]")
    base = member["type"].removeprefix("[]")
    tag = member["tag"] if version in versions(member.get("taggedVersions")) else None
    nullable = version in versions(member.get("nullableVersions"))
    fields = defined_fields(member["fields"], version) if "fields" in member else None
    return (
        snake_case(member["name"]),
        "struct" if base[0].isupper() else base,
        is_array,
        nullable,
        tag,
        fields,
    )


def read_fields(schema: StructSchema) -> list[tuple[Any, ...]]:
    return [describe_read(member) for member in schema.fields if not is_own(member)]


def describe_read(member: FieldSchema) -> tuple[Any, ...]:
    fields = None if member.struct is None else read_fields(member.struct)
    return member.name, member.type, member.is_array, member.nullable, member.tag, fields


def common_versions(key: int, definition: dict[str, Any]) -> list[int]:
    entry = API_TABLE[key]
    return sorted({*versions(definition["validVersions"])} & {*range(entry.min_version, entry.max_version + 1)})


def defaults_differ(definition: list[dict[str, Any]], schema: StructSchema, version: int) -> list[str]:
    """The fields whose default Kafka defines and we have otherwise."""
    defined = {snake_case(member["name"]): member for member in definition}
    wrong = []
    for member in schema.fields:
        if is_own(member):
            continue
        if member.struct is not None:
            wrong += defaults_differ(defined[member.name].get("fields", []), member.struct, version)
        elif (text := defined[member.name].get("default")) is not None and not same(text, member):
            wrong.append(f"{schema.name}.{member.name}: {text} is {member.default!r}")
    return wrong


def same(text: Any, member: FieldSchema) -> bool:
    if text == "null":
        return member.default is None or not member.nullable
    if member.type == "bool":
        return bool(member.default) == (str(text).lower() == "true")
    return member.default == (text if member.type == "string" else int(str(text), 0))


@pytest.mark.parametrize(("key", "direction"), DEFINED)
def test_every_version_has_the_fields_that_kafka_defines(key: int, direction: Direction) -> None:
    definition = kafka_definition(f"{API_TABLE[key].name}{direction.capitalize()}")
    assert common_versions(key, definition)
    for version in common_versions(key, definition):
        schema = load_schema(key, version, direction)
        assert schema.flexible == (version in versions(definition["flexibleVersions"]))
        assert read_fields(schema) == defined_fields(definition["fields"], version), version


@pytest.mark.parametrize(("key", "direction"), DEFINED)
def test_defaults_are_those_that_kafka_defines(key: int, direction: Direction) -> None:
    definition = kafka_definition(f"{API_TABLE[key].name}{direction.capitalize()}")
    for version in common_versions(key, definition):
        assert not defaults_differ(definition["fields"], load_schema(key, version, direction), version)


@pytest.mark.parametrize(("key", "version"), [(0, 2), (0, 14), (999, 0), (-1, 0), (18, -1)])
def test_an_unknown_key_or_version_has_no_schema(key: int, version: int) -> None:
    with pytest.raises(WireError, match=f"no schema for api key {key} version {version}"):
        load_schema(key, version, "request")


def test_an_api_that_is_not_served_has_no_schema() -> None:
    with pytest.raises(WireError, match="no schema for api key 38, which is not served"):
        load_schema(38, API_TABLE[38].max_version, "request")
