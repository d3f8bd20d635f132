"""What the fields of messages hold: said of every one, and as Kafka's own definitions say it."""

import dataclasses
import importlib
from typing import Any

import pytest
from kio.schema.types import GroupId, TopicName, TransactionalId

from tools.kio_schemas import _unwrap
from wire.kafka.apis import registered
from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.schema import FieldSchema, StructSchema, load_schema
from wire.kafka.tenancy.fields import OFFERED, WITHHELD, Kind, Uncovered, kind_of


def test_a_field_that_nobody_knows_is_not_passed_on() -> None:
    field = FieldSchema("surprise", "string", False, False, None, "")
    with pytest.raises(Uncovered, match=r"NewThing\.surprise"):
        kind_of(StructSchema("NewThing", True, (field,)), field)


def test_of_every_api_it_is_said_whether_tenants_have_it() -> None:
    """A new API is put into OFFERED or WITHHELD (wire/kafka/tenancy/fields.py), with what its fields hold."""
    served = set(registered())
    assert served - OFFERED - WITHHELD.keys() == set()
    assert not OFFERED & WITHHELD.keys()
    assert WITHHELD.keys() <= API_TABLE.keys()
    assert {key for key, api in registered().items() if not api.advertised} <= WITHHELD.keys()


def _kio_entities(kio_class: Any) -> set[str]:
    """The fields that Kafka's own definitions call the name of a topic, a group or a transaction."""

    found = set()
    for member in dataclasses.fields(kio_class):
        inner = _unwrap(member.type)[0]
        if dataclasses.is_dataclass(inner):
            found |= _kio_entities(inner)
        elif inner in (TopicName, GroupId, TransactionalId):
            found.add((kio_class.__name__, member.name))
    return found


@pytest.mark.parametrize("key", sorted(OFFERED & registered().keys()))
def test_what_kafka_calls_a_name_is_one_here(key: int) -> None:
    api = API_TABLE[key]
    for version in range(registered()[key].first_version, api.max_version + 1):
        for direction in ("request", "response"):
            loaded = importlib.import_module(f"kio.schema.{api.module}.v{version}.{direction}")
            entities = _kio_entities(getattr(loaded, f"{api.name}{direction.capitalize()}"))
            schema = load_schema(key, version, direction)  # type: ignore[arg-type]
            assert entities <= _names(schema)


def _names(schema: StructSchema) -> set[tuple[str, str]]:
    found = set()
    for field in schema.fields:
        if field.struct is not None:
            found |= _names(field.struct)
        elif kind_of(schema, field) is Kind.NAME:
            found.add((schema.name, field.name))
    return found
