"""What a `$ref` means, wherever it stands."""

import json
from typing import Any

import pytest

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.json_schema.documents import JsonDocuments
from coordinators.schemas.formats.json_schema.schema import DRAFTS


def _documents(schema: dict[str, Any]) -> JsonDocuments:
    return JsonDocuments.read(json.dumps(schema), (), DRAFTS)


@pytest.mark.parametrize(
    ("reference", "rest"),
    [
        ("#/definitions/a~1b", {"definitions": {"a/b": {"const": 1}}}),
        ("#/definitions/a%20b", {"definitions": {"a b": {"const": 1}}}),
        ("#/allOf/1", {"allOf": [{}, {"const": 1}]}),
        ("#here", {"definitions": {"x": {"$id": "#here", "const": 1}}}),
        ("#here", {"definitions": {"x": {"$anchor": "here", "const": 1}}}),
        ("inner.json", {"$id": "http://a.b/outer.json", "definitions": {"x": {"$id": "inner.json", "const": 1}}}),
        ("#/components/schemas/x", {"components": {"schemas": {"x": {"const": 1}}}}),
    ],
)
def test_a_reference_leads_where_it_says(reference: str, rest: dict[str, Any]) -> None:
    documents = _documents({"properties": {"it": {"$ref": reference}}, **rest})
    assert isinstance(documents.root, dict)
    target = documents.target(documents.root["properties"]["it"])
    assert isinstance(target, dict)
    assert target["const"] == 1


def test_a_reference_is_relative_to_what_it_stands_in() -> None:
    inner = {"$id": "http://a.b/c/inner.json", "items": {"$ref": "#/definitions/x"}, "definitions": {"x": {"const": 2}}}
    documents = _documents({"properties": {"it": inner}, "definitions": {"x": {"const": 1}}})
    assert isinstance(documents.root, dict)
    assert documents.target(documents.root["properties"]["it"]["items"]) == {"const": 2}


def test_data_is_no_schema_whatever_it_looks_like() -> None:
    _documents({"enum": [{"$ref": "nowhere"}], "default": {"$ref": "nowhere"}, "properties": {"$ref": {"const": 1}}})


def test_circles_are_refused() -> None:
    definitions = {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}
    with pytest.raises(InvalidSchema, match="leads in a circle"):
        _documents({"definitions": definitions})
