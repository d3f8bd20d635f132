"""`/subjects`: what clients of Confluent's registry send, and what they read in the answers."""

import json
from typing import Any

import pytest
from trio.testing import trio_test

from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door


@trio_test
async def test_a_schema_is_registered_and_found_again(door: Door) -> None:
    text = avro("a")
    found = await door.register("orders-value", text)
    assert (found["id"], found["version"], found["schema"]) == (1, 1, text)
    assert "schemaType" not in found, "AVRO is not named"
    assert await door.register("orders-value", text, "?normalize=False") == found, "booleans as Python writes them"
    status, looked_up = await door.ask("POST", "/subjects/orders-value?normalize=False&deleted=False", {"schema": text})
    assert status == 200
    assert looked_up == {
        "subject": "orders-value",
        "version": 1,
        "id": 1,
        "guid": found["guid"],
        "schema": text,
    }


@trio_test
async def test_refusals_have_the_codes_of_the_api(door: Door) -> None:
    assert await door.code("POST", "/subjects/s", {"schema": avro("a")}) == 40401
    await door.register("s", avro("a"))
    assert await door.code("POST", "/subjects/s", {"schema": avro("b")}) == 40403
    assert await door.code("POST", "/subjects/s/versions", {"schema": avro("a", "b")}) == 409
    assert await door.code("POST", "/subjects/s/versions", {"schema": "{"}) == 42201
    assert await door.code("POST", "/subjects/s/versions", {}) == 42201
    assert await door.code("POST", "/subjects/s/versions", {"schema": "{}", "schemaType": "X"}) == 42201
    assert await door.code("POST", "/subjects/s/versions", {"schema": avro("a"), "id": 7}) == 42205
    assert await door.code("GET", "/subjects/nope/versions") == 40401
    assert await door.code("GET", "/subjects/nope/versions/1") == 40401
    assert await door.code("GET", "/subjects/s/versions/2") == 40402
    for version in ("0", "-2", "x", "1.0", "99999999999", "1e3", "²"):
        assert await door.code("GET", f"/subjects/s/versions/{version}") == 42202, version
    assert await door.code("DELETE", "/subjects/nope") == 40401
    assert await door.code("DELETE", "/subjects/s?permanent=true") == 40405
    assert await door.code("DELETE", "/subjects/s/versions/1?permanent=true") == 40407
    assert (await door.ask("DELETE", "/subjects/s/versions/latest")) == (200, 1)
    assert await door.code("DELETE", "/subjects/s/versions/1") == 40406
    assert await door.code("DELETE", "/subjects/s") == 40404
    assert await door.code("GET", "/subjects/s/versions/latest") == 40401
    for name in ("%20", "a%0Ab", "__GLOBAL"):
        assert await door.code("POST", f"/subjects/{name}/versions", {"schema": avro("a")}) == 42208, name


@trio_test
async def test_names_come_percent_encoded(door: Door) -> None:
    for encoded, name in (("a%2Fb", "a/b"), ("a%3Ab", "a:b"), ("%C3%A9", "é"), ("a+b", "a+b"), ("x%2520", "x%20")):
        await door.register(encoded, avro("a"))
        assert (await door.get(f"/subjects/{encoded}/versions/latest"))["subject"] == name
    assert await door.get("/subjects") == sorted(["a/b", "a:b", "é", "a+b", "x%20"])


@trio_test
async def test_lists_of_subjects_have_prefixes_pages_and_deleted_ones(door: Door) -> None:
    for name in ("a1", "a2", "b1", ":.shop:a3"):
        await door.register(name, avro("a"))
    await door.ask("DELETE", "/subjects/a2")
    assert await door.get("/subjects") == ["a1", "b1", ":.shop:a3"]
    assert await door.get("/subjects?deleted=TRUE") == ["a1", "a2", "b1", ":.shop:a3"]
    assert await door.get("/subjects?deletedOnly=true") == ["a2"]
    assert await door.get("/subjects?subjectPrefix=a") == ["a1"]
    assert await door.get("/subjects?subjectPrefix=%3A*%3Aa") == ["a1", ":.shop:a3"]
    assert await door.get("/subjects?subjectPrefix=%3A.shop%3A") == [":.shop:a3"]
    assert await door.get("/contexts/.shop/subjects") == [":.shop:a3"]
    assert await door.get("/subjects?offset=1&limit=1") == ["b1"]
    assert await door.get("/subjects?limit=-1&unknown=x&offset=2") == [":.shop:a3"]
    assert await door.code("GET", "/subjects?limit=many") == 422


@trio_test
async def test_versions_are_listed_as_asked(door: Door) -> None:
    for fields in (("a",), ("a", "b="), ("a", "c=")):
        await door.register("s", avro(*fields))
    await door.ask("DELETE", "/subjects/s/versions/2")
    assert await door.get("/subjects/s/versions") == [1, 3]
    assert await door.get("/subjects/s/versions?deleted=true") == [1, 2, 3]
    assert await door.get("/subjects/s/versions?deletedOnly=true") == [2]
    assert await door.get("/subjects/s/versions?deletedAsNegative=true") == [1, -2, 3]
    assert await door.get("/subjects/s/versions?deleted=true&offset=1&limit=1") == [2]
    assert (await door.get("/subjects/s/versions/-1"))["version"] == 3
    assert (await door.get("/subjects/s/versions/2?deleted=true"))["version"] == 2
    assert await door.code("GET", "/subjects/s/versions/2") == 40402
    response = await door.respond("GET", "/subjects/s/versions/1/schema")
    assert json.loads(response.body)["name"] == "Order"


@trio_test
async def test_references_are_answered_and_counted(door: Door) -> None:
    line = json.dumps({"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]})
    order = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]})
    references = [{"name": "Line", "subject": "lines", "version": 1}]
    await door.register("lines", line)
    found = await door.register("orders", order, references=references)
    assert found["references"] == references
    assert await door.get("/subjects/lines/versions/1/referencedby") == [2]
    assert await door.get("/subjects/orders/versions/1/referencedby") == []
    assert (await door.get("/schemas/ids/2"))["references"] == references
    assert await door.code("DELETE", "/subjects/lines") == 42206
    assert await door.code("POST", "/subjects/x/versions", {"schema": order, "references": [{"name": "Line"}]}) == 42201


@trio_test
async def test_metadata_and_rules_are_carried_and_make_another_schema(door: Door) -> None:
    metadata, rules = {"properties": {"major": "1"}}, {"domainRules": []}
    plain = await door.register("s", avro("a"))
    found = await door.register("s", avro("a"), metadata=metadata, ruleSet=rules)
    assert (found["id"], found["metadata"], found["ruleSet"]) == (2, metadata, rules)
    assert found["guid"] != plain["guid"]
    await door.register("s", avro("a", "b="), metadata={"properties": {"major": "2"}})
    newest: dict[str, Any] = await door.get("/subjects/s/metadata?key=major&value=1")
    assert (newest["version"], newest["metadata"]) == (2, metadata)
    assert await door.code("GET", "/subjects/s/metadata?key=major&value=9") == 40401


@trio_test
@pytest.mark.parametrize("prefix", ["/contexts/.shop", "/contexts/:.shop:", "/contexts/%3A.shop%3A"])
async def test_every_path_takes_a_context(door: Door, prefix: str) -> None:
    status, found = await door.ask("POST", f"{prefix}/subjects/s/versions", {"schema": avro("a")})
    assert (status, found["id"]) == (200, 1)
    assert (await door.get("/subjects/:.shop:s/versions/1"))["subject"] == ":.shop:s"
    assert await door.get(f"{prefix}/schemas/ids/1/subjects") == [":.shop:s"]
    assert await door.code("GET", "/schemas/ids/1") == 40403
    assert (await door.get("/schemas/ids/1?subject=:.shop:s"))["schema"] == avro("a")
    assert (await door.get("/schemas/ids/1?subject=s&fetchMaxId=false"))["schema"] == avro("a")
    assert await door.get("/contexts") == [".", ".shop"]
    assert await door.code("GET", "/contexts/%3A%3Ax/subjects") == 42208
