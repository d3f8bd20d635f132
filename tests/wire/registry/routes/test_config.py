"""`/config`, `/mode` and `/compatibility`: what is set, for whom, and what follows."""

import json
from typing import Any

from trio.testing import trio_test

from coordinators.access.acls import Operation
from coordinators.schemas.names import GLOBAL, Subject
from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door, basic, guarded, rule


@trio_test
async def test_levels_are_set_told_and_forgotten(door: Door) -> None:
    assert await door.get("/config") == {"compatibilityLevel": "BACKWARD"}
    assert await door.ask("PUT", "/config", {"compatibility": "full"}) == (200, {"compatibility": "FULL"})
    assert await door.get("/config") == {"compatibilityLevel": "FULL"}
    assert await door.code("GET", "/config/s") == 40408
    assert await door.get("/config/s?defaultToGlobal=true") == {"compatibilityLevel": "FULL"}
    assert await door.ask("PUT", "/config/s", {"compatibility": "NONE", "color": "red"}) == (
        200,
        {"compatibility": "NONE"},
    )
    assert await door.get("/config/s") == {"compatibilityLevel": "NONE"}
    assert await door.ask("DELETE", "/config/s") == (200, {"compatibilityLevel": "NONE"})
    assert await door.code("DELETE", "/config/s") == 40401
    assert await door.ask("DELETE", "/config") == (200, {"compatibilityLevel": "FULL"})
    assert await door.get("/config") == {"compatibilityLevel": "BACKWARD"}
    assert await door.code("PUT", "/config", {"compatibility": "SOMEHOW"}) == 42203
    assert await door.code("PUT", "/config/s", {}) == 42203


@trio_test
async def test_a_context_has_a_level_of_its_own(door: Door) -> None:
    await door.ask("PUT", "/config/:.shop:", {"compatibility": "NONE"})
    assert await door.get("/contexts/.shop/config") == {"compatibilityLevel": "NONE"}
    assert await door.get("/config/:.shop:s?defaultToGlobal=true") == {"compatibilityLevel": "NONE"}
    assert await door.get("/config") == {"compatibilityLevel": "BACKWARD"}


@trio_test
async def test_modes_are_set_told_and_forgotten(door: Door) -> None:
    assert await door.get("/mode") == {"mode": "READWRITE"}
    assert await door.code("GET", "/mode/s") == 40409
    assert await door.get("/mode/s?defaultToGlobal=True") == {"mode": "READWRITE"}
    await door.register("s", avro("a"))
    assert await door.code("PUT", "/mode", {"mode": "IMPORT"}) == 42205
    assert await door.code("PUT", "/mode/s", {"mode": "IMPORT"}) == 42205
    assert await door.ask("PUT", "/mode/t", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert await door.ask("PUT", "/mode/s?force=true", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert await door.ask("PUT", "/mode", {"mode": "READONLY"}) == (200, {"mode": "READONLY"})
    assert await door.code("POST", "/subjects/u/versions", {"schema": avro("a")}) == 42205
    assert await door.code("DELETE", "/subjects/u") == 42205
    assert await door.ask("DELETE", "/mode/t") == (200, {"mode": "IMPORT"})
    assert await door.code("DELETE", "/mode/t") == 40401
    assert await door.ask("DELETE", "/mode") == (200, {"mode": "READONLY"})
    for mode in ("FORWARD", "", None):
        assert await door.code("PUT", "/mode", {"mode": mode}) == 42204, mode


@trio_test
async def test_what_is_not_supported_is_refused_by_name(door: Door) -> None:
    for member in ("validateFields", "validateRules"):
        status, found = await door.ask("PUT", "/config", {member: True})
        assert (status, member in found["message"]) == (422, True)
    status, found = await door.ask("PUT", "/mode", {"mode": "FORWARD"})
    assert (status, "not supported" in found["message"]) == (422, True)


@trio_test
async def test_all_that_is_set_is_told_and_null_takes_it_away(door: Door) -> None:
    whole = {
        "compatibility": "FULL",
        "compatibilityPolicy": "LENIENT",
        "compatibilityGroup": "major",
        "normalize": True,
        "defaultMetadata": {"properties": {"owner": "shop"}, "tags": {"$.id": ["PII"]}, "sensitive": ["owner"]},
        "overrideRuleSet": {"domainRules": [{"name": "known", "kind": "CONDITION", "expr": "true"}]},
    }
    assert await door.ask("PUT", "/config", whole) == (200, whole)
    shown = {"compatibilityLevel": whole.pop("compatibility"), **whole}
    assert await door.get("/config") == await door.get("/config/s?defaultToGlobal=true") == shown
    assert await door.ask("PUT", "/config", {"compatibilityGroup": None, "overrideRuleSet": None}) == (200, {})
    kept = {name: value for name, value in shown.items() if name not in ("compatibilityGroup", "overrideRuleSet")}
    assert await door.get("/config") == kept
    assert await door.code("PUT", "/config/s", {"compatibilityPolicy": "SOMEHOW"}) == 42203
    assert await door.code("PUT", "/config/s", {"defaultMetadata": {"properties": {"owner": 5}}}) == 422
    assert await door.code("PUT", "/config/s", {"overrideRuleSet": {"domainRules": [{"kind": "CONDITION"}]}}) == 422


@trio_test
async def test_an_alias_stands_for_a_subject_wherever_schemas_are_meant(door: Door) -> None:
    await door.register("orders", avro("a"))
    assert await door.ask("PUT", "/config/old-orders", {"alias": "orders"}) == (200, {"alias": "orders"})
    assert await door.get("/config/old-orders") == {"alias": "orders"}
    assert await door.get("/subjects/old-orders/versions") == [1]
    assert (await door.register("old-orders", avro("a", "note=")))["version"] == 2
    assert (await door.get("/subjects/orders/versions/latest"))["version"] == 2
    status, found = await door.ask("POST", "/subjects/old-orders", {"schema": avro("a")})
    assert (status, found["subject"], found["version"]) == (200, "orders", 1)
    fits = await door.ask("POST", "/compatibility/subjects/old-orders/versions", {"schema": avro("a", "b")})
    assert fits == (200, {"is_compatible": False})
    assert await door.get("/subjects") == ["orders"]
    assert await door.ask("PUT", "/config/old-orders", {"alias": ""}) == (200, {})
    assert await door.code("GET", "/subjects/old-orders/versions") == 40401
    for scope in ("/config", "/config/:.shop:", "/config/same"):
        assert await door.code("PUT", scope, {"alias": "same"}) == 42208, scope


@trio_test
async def test_all_that_is_set_is_listed_whether_or_not_there_are_schemas(door: Door) -> None:
    assert await door.get("/settings") == []
    await door.ask("PUT", "/config", {"compatibility": "FULL"})
    await door.ask("PUT", "/config/old-orders", {"alias": "orders"})
    await door.ask("PUT", "/mode/orders", {"mode": "READONLY"})
    await door.ask("PUT", "/config/:.shop:", {"normalize": True})
    await door.ask("PUT", "/config/gone", {"normalize": True})
    await door.ask("DELETE", "/config/gone")
    listed = [
        {"config": {"compatibilityLevel": "FULL"}},
        {"subject": "old-orders", "config": {"alias": "orders"}},
        {"subject": "orders", "mode": "READONLY"},
        {"subject": ":.shop:", "config": {"normalize": True}},
    ]
    assert await door.get("/settings") == listed
    assert await door.get("/settings?offset=1&limit=2") == listed[1:3]
    assert await door.get("/contexts/.shop/settings") == [{"config": {"normalize": True}}]


@trio_test
async def test_what_the_caller_may_not_see_is_in_no_list_of_settings() -> None:
    door = guarded(rule("alice", Operation.ALL, "mine"))
    alice = basic("alice")
    assert (await door.ask("PUT", "/config/mine", {"normalize": True}, authorization=alice))[0] == 200
    await door.node.settings.put_config(Subject(".", "secret"), {"alias": "mine"})
    await door.node.settings.put_config(GLOBAL, {"compatibility": "NONE"})
    listed = await door.ask("GET", "/settings", authorization=alice)
    assert listed == (200, [{"subject": "mine", "config": {"normalize": True}}])


@trio_test
async def test_an_alias_gives_nobody_rights_to_what_it_stands_for() -> None:
    door = guarded(rule("alice", Operation.ALL, "mine"), rule("bob", Operation.ALL, "secret"))
    alice, bob = basic("alice"), basic("bob")
    assert (await door.ask("PUT", "/config/mine", {"alias": "secret"}, authorization=alice))[0] == 200
    assert (await door.ask("GET", "/subjects/mine/versions", authorization=alice))[0] == 403
    body = {"schema": avro("a")}
    assert (await door.ask("POST", "/subjects/mine/versions", body, authorization=alice))[0] == 403
    assert (await door.ask("POST", "/subjects/secret/versions", body, authorization=bob))[0] == 200


@trio_test
async def test_only_versions_of_the_same_group_are_compared(door: Door) -> None:
    await door.ask("PUT", "/config/s", {"compatibilityGroup": "major"})

    def of(major: str) -> dict[str, Any]:
        return {"metadata": {"properties": {"major": major}}}

    await door.register("s", avro("a"), **of("1"))
    assert await door.code("POST", "/subjects/s/versions", {"schema": avro("b"), **of("1")}) == 409
    assert (await door.register("s", avro("b"), **of("2")))["version"] == 2
    assert (await door.register("s", avro("a", "note="), **of("1")))["version"] == 3, "it is held to version 1"
    assert await door.code("POST", "/subjects/s/versions", {"schema": avro("a"), **of("2")}) == 409
    fits = await door.ask("POST", "/compatibility/subjects/s/versions", {"schema": avro("c")})
    assert fits == (200, {"is_compatible": True}), "nothing is there without a group"


@trio_test
async def test_json_schemas_may_get_properties_where_the_policy_is_lenient(door: Door) -> None:
    def of(*names: str) -> dict[str, str]:
        properties = {name: {"type": "string"} for name in names}
        return {"schemaType": "JSON", "schema": json.dumps({"type": "object", "properties": properties})}

    assert (await door.ask("POST", "/subjects/s/versions", of("a")))[0] == 200
    assert await door.code("POST", "/subjects/s/versions", of("a", "b")) == 409
    await door.ask("PUT", "/config/s", {"compatibilityPolicy": "lenient"})
    assert (await door.ask("POST", "/subjects/s/versions", of("a", "b")))[0] == 200


@trio_test
async def test_metadata_and_rules_of_the_config_become_those_of_the_schemas(door: Door) -> None:
    before = await door.register("s", avro("a"))
    config = {
        "defaultMetadata": {"properties": {"owner": "shop", "tier": "3"}},
        "overrideMetadata": {"properties": {"region": "eu"}, "sensitive": ["region"]},
        "defaultRuleSet": {"domainRules": [{"name": "known", "expr": "1"}, {"name": "short", "expr": "2"}]},
    }
    assert (await door.ask("PUT", "/config/s", config))[0] == 200
    own = {"properties": {"tier": "1", "region": "us"}}
    rules = {"domainRules": [{"name": "known", "expr": "3"}]}
    found = await door.register("s", avro("a", "note="), metadata=own, ruleSet=rules)
    merged = {"properties": {"owner": "shop", "tier": "1", "region": "eu"}, "sensitive": ["region"]}
    assert found["metadata"] == merged
    assert found["ruleSet"] == {"domainRules": [{"name": "short", "expr": "2"}, {"name": "known", "expr": "3"}]}
    again = await door.register("s", avro("a", "note="), metadata=own, ruleSet=rules)
    assert (again["id"], again["version"]) == (found["id"], 2)
    status, looked_up = await door.ask("POST", "/subjects/s", {"schema": avro("a")})
    assert (status, looked_up["id"]) == (200, before["id"]), "what was there before is found as it was"
    newest = await door.get("/subjects/s/metadata?key=region&value=eu&key=tier&value=1")
    assert newest["version"] == 2


@trio_test
async def test_whether_a_schema_would_fit_is_told_with_reasons_if_asked(door: Door) -> None:
    path = "/compatibility/subjects/s/versions"
    body = {"schema": avro("a", "b")}
    assert await door.ask("POST", f"{path}/latest", body) == (200, {"is_compatible": True}), "there is no subject"
    assert await door.ask("POST", path, body) == (200, {"is_compatible": True})
    assert await door.code("POST", f"{path}/1", body) == 40401
    await door.register("s", avro("a"))
    assert await door.ask("POST", f"{path}/latest", body) == (200, {"is_compatible": False})
    status, told = await door.ask("POST", f"{path}/1?verbose=true", body)
    assert (status, told["is_compatible"]) == (200, False)
    assert "version 1" in told["messages"][0]
    assert await door.ask("POST", f"{path}?verbose=True", {"schema": avro("a")}) == (
        200,
        {"is_compatible": True, "messages": []},
    )
    assert await door.code("POST", f"{path}/7", body) == 40402
    assert await door.code("POST", f"{path}/x", body) == 42202
    assert await door.code("POST", f"{path}/latest", {"schema": "nonsense"}) == 42201
