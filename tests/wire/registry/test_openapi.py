"""The registry describes itself at its own port as below the operations door."""

import json
import re
from typing import Any

from trio.testing import trio_test

from tests.wire.registry.doors import Door
from wire.registry.openapi import MOUNTED, described, registry_document, registry_routes


def document(*, needs_token: bool = False) -> dict[str, Any]:
    return json.loads(registry_document("1.2.3", needs_token))  # type: ignore[no-any-return]


def test_every_call_is_described() -> None:
    found = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert found == {(route.method, route.path) for route in registry_routes()}


def test_below_the_operations_door_the_same_calls_have_its_prefix() -> None:
    paths, _ = described(MOUNTED, needs_token=False)
    assert {"/schemas", "/schemas/", "/schemas/ids/{id}", "/schemas/subjects/{subject}", "/schemas/mode"} <= set(paths)
    assert all(path.startswith(MOUNTED) for path in paths)
    assert not [path for path in paths if path.startswith("/schemas/schemas")]


def test_every_reference_leads_somewhere_and_every_call_has_a_name_of_its_own() -> None:
    whole = document()
    references = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(whole)))
    assert references <= set(whole["components"]["schemas"])
    assert all(name.startswith("Registry") for name in references), "they stand beside those of the operations door"
    names = [operation["operationId"] for methods in whole["paths"].values() for operation in methods.values()]
    assert sorted(names) == sorted(set(names))


def test_refusals_are_of_the_kinds_that_the_registry_gives() -> None:
    register = document(needs_token=True)["paths"]["/subjects/{subject}/versions"]["post"]
    assert {"200", "401", "409", "422", "415"} <= set(register["responses"])
    content = register["responses"]["409"]["content"]
    assert content["application/vnd.schemaregistry.v1+json"]["schema"]["$ref"].endswith("/RegistryErrorDocument")
    assert "application/octet-stream" in register["requestBody"]["content"]
    assert register["security"] == [{"token": []}]


@trio_test
async def test_the_document_is_served(door: Door) -> None:
    found = await door.get("/openapi.json")
    assert (found["info"]["version"], "/subjects" in found["paths"]) == ("1.2.3", True)
    assert "/subjects" in (await Door(mounted=True).get("/schemas/openapi.json"))["paths"]
