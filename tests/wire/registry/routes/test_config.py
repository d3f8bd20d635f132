"""`/config`, `/mode` and `/compatibility`: what is set, for whom, and what follows."""

from trio.testing import trio_test

from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door


@trio_test
async def test_levels_are_set_told_and_forgotten(door: Door) -> None:
    assert await door.get("/config") == {"compatibilityLevel": "BACKWARD"}
    assert await door.ask("PUT", "/config", {"compatibility": "full"}) == (200, {"compatibility": "FULL"})
    assert await door.get("/config") == {"compatibilityLevel": "FULL"}
    assert await door.code("GET", "/config/s") == 40408
    assert await door.get("/config/s?defaultToGlobal=true") == {"compatibilityLevel": "FULL"}
    assert await door.ask("PUT", "/config/s", {"compatibility": "NONE", "alias": "x"}) == (
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
