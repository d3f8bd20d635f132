"""Every API in every version: names that go in with their prefix come out without it, and no field is forgotten."""

from typing import Any

import pytest

from tests.wire.kafka.tenancy.test_view import view
from wire.kafka.apis import registered
from wire.kafka.codec import request_encoder, response_decoder
from wire.kafka.codec.compiled import _messages
from wire.kafka.codec.decoding import message_class
from wire.kafka.codec.schema import FieldSchema, StructSchema, load_schema
from wire.kafka.request_bounds import BOUNDS
from wire.kafka.tenancy.codec import tenant_request_decoder, tenant_response_encoder
from wire.kafka.tenancy.fields import OFFERED, Kind, kind_of
from wire.kafka.tenancy.view import RewritingView

EVERY = [
    (key, version)
    for key, api in sorted(registered().items())
    if key in OFFERED
    for version in range(api.first_version, api.last_version + 1)
]
ANY_ID = bytes(range(16))
LISTS_CLIENT_METRICS = 74, 0
"""ListConfigResources of version 0: what it lists no tenant has."""


def filled(schema: StructSchema, key: int, direction: Any, name: str) -> Any:
    """A message with `name` in every field that holds one, and something in all others."""
    made = message_class(_messages(key), schema.name, direction)()
    for field in schema.fields:
        value = None if field.type == "records" else _value(schema, field, key, direction, name)
        if field.type != "records":
            setattr(made, field.name, [value, value] if field.is_array else value)
    return made


def _value(schema: StructSchema, field: FieldSchema, key: int, direction: Any, name: str) -> Any:
    if field.struct is not None:
        return filled(field.struct, key, direction, name)
    if field.name == "resource_type":
        return 2
    if field.name == "api_key":
        return 0
    kind = kind_of(schema, field)
    if field.type == "string":
        return name if kind in (Kind.NAME, Kind.IN_STRUCT) and field.name != "value" else "text"
    return {"bytes": b"bytes", "uuid": ANY_ID, "bool": True, "float64": 1.5}.get(field.type, 1)


def named(message: Any, schema: StructSchema) -> list[str]:
    """What stands in the fields that hold names."""
    found: list[str] = []
    for field in schema.fields:
        value = getattr(message, field.name)
        each = value if field.is_array else [value]
        if field.struct is not None:
            found += [name for one in each for name in named(one, field.struct)]
        elif kind_of(schema, field) is Kind.NAME or _names_a_resource(schema, field):
            found += each
    return found


def _names_a_resource(schema: StructSchema, field: FieldSchema) -> bool:
    return field.name == "resource_name" and kind_of(schema, field) is Kind.IN_STRUCT


@pytest.mark.parametrize(("key", "version"), EVERY)
def test_names_are_rewritten_both_ways(key: int, version: int) -> None:
    tenant = view(RewritingView)
    schema = load_schema(key, version, "request")
    data = b"".join(bytes(part) for part in request_encoder(key, version)(filled(schema, key, "request", "orders")))
    for in_steps in (False, True):
        decode = tenant_request_decoder(key, version, BOUNDS, in_steps=in_steps)
        read = _finished(decode(data, 0, tenant), in_steps)
        assert set(named(read, schema)) <= {"acme.orders"}
        assert _without(read, schema) == _without(filled(schema, key, "request", "orders"), schema)
    schema = load_schema(key, version, "response")
    answer, kept = (filled(schema, key, "response", "acme.orders") for _ in range(2))
    for in_steps in (False, True):
        written = tenant_response_encoder(key, version, in_steps=in_steps)(answer, tenant)
        parts = _finished(written, in_steps)
        told = response_decoder(key, version)(b"".join(bytes(part) for part in parts), 0)
        assert set(named(told, schema)) <= {"orders"}
        if (key, version) != LISTS_CLIENT_METRICS:
            assert len(named(told, schema)) == len(named(answer, schema))
        assert answer == kept, "what a writer is given is never altered"
    # What is somebody else's is not told at all, where it stands in a list.
    alien = filled(schema, key, "response", "zulu.orders")
    parts = tenant_response_encoder(key, version)(alien, tenant)
    told = response_decoder(key, version)(b"".join(bytes(part) for part in parts), 0)
    assert [name for name in _listed(told, schema, in_list=False) if name] == []


def _finished(made: Any, in_steps: bool) -> Any:
    if not in_steps:
        return made
    while True:
        try:
            next(made)
        except StopIteration as end:
            return end.value


def _without(message: Any, schema: StructSchema) -> list[Any]:
    """All that is no name."""
    found: list[Any] = []
    for field in schema.fields:
        value = getattr(message, field.name)
        if field.struct is not None:
            found += [_without(one, field.struct) for one in (value if field.is_array else [value])]
        elif field.type != "records" and kind_of(schema, field) is Kind.PLAIN:
            found.append(value)
    return found


def _listed(message: Any, schema: StructSchema, *, in_list: bool) -> list[str]:
    """Names within lists."""
    found: list[str] = []
    for field in schema.fields:
        value = getattr(message, field.name)
        each = value if field.is_array else [value]
        inside = in_list or field.is_array
        if field.struct is not None:
            found += [name for one in each for name in _listed(one, field.struct, in_list=inside)]
        elif inside and kind_of(schema, field) is Kind.NAME:
            found += each
    return found
