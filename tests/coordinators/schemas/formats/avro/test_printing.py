"""Avro schemas printed: which texts are the same schema, and which are not."""

import json
from typing import Any

import pytest

from coordinators.schemas.formats.avro.schema import FORMAT


def _record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _parsed(schema: Any) -> Any:
    return FORMAT.parse(json.dumps(schema))


def test_white_space_and_the_order_of_known_keys_mean_nothing() -> None:
    one = FORMAT.parse('{"type":"record","name":"R","fields":[{"name":"a","type":"int","doc":"d"}]}')
    other = FORMAT.parse('{ "fields" : [ {"doc":"d", "type":"int", "name":"a"} ], "name": "R", "type": "record" }')
    assert one.canonical == other.canonical


@pytest.mark.parametrize("more", [{"doc": "x"}, {"aliases": ["Q"]}, {"owner": "shop"}])
def test_documentation_aliases_and_unknown_properties_count(more: dict[str, Any]) -> None:
    assert _parsed(_record() | more).canonical != _parsed(_record()).canonical
    assert _parsed(_parsed_back(_record() | more)).canonical == _parsed(_record() | more).canonical


def _parsed_back(schema: Any) -> Any:
    return json.loads(_parsed(schema).canonical)


def test_namespaces_that_say_nothing_new_vanish() -> None:
    inner = _record(name="shop.B")
    one = _parsed({**_record({"name": "b", "type": inner}, name="A"), "namespace": "shop"})
    other = _parsed(_record({"name": "b", "type": _record(name="B")}, name="shop.A"))
    assert one.canonical == other.canonical
    assert one.name_of(b"") == "shop.A"


def test_normalized_puts_unknown_properties_in_order() -> None:
    one, other = _parsed({"type": "int", "b": 1, "a": 2}), _parsed({"type": "int", "a": 2, "b": 1})
    assert one.canonical != other.canonical
    assert one.normalized == other.normalized == '{"type":"int","a":2,"b":1}'
