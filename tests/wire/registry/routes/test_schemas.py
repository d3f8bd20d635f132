"""`/schemas`: by id, by guid, all of them."""

from trio.testing import trio_test

from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door


@trio_test
async def test_a_schema_is_served_by_its_id_deleted_or_not(door: Door) -> None:
    found = await door.register("s", avro("a"))
    await door.register("t", avro("a"))
    shown = await door.get("/schemas/ids/1?fetchMaxId=false&subject=&format=")
    assert shown == {"schema": avro("a"), "guid": found["guid"]}
    assert await door.get("/schemas/ids/1/versions") == [
        {"subject": "s", "version": 1},
        {"subject": "t", "version": 1},
    ]
    await door.ask("DELETE", "/subjects/s")
    assert (await door.get("/schemas/ids/1"))["schema"] == avro("a")
    assert await door.get("/schemas/ids/1/subjects") == ["t"]
    assert await door.get("/schemas/ids/1/subjects?deleted=true") == ["s", "t"]
    assert (await door.respond("GET", "/schemas/ids/1/schema")).body.decode() == avro("a")
    for number in ("2", "0", "-1", "x", "99999999999999999999"):
        assert await door.code("GET", f"/schemas/ids/{number}") == 40403, number


@trio_test
async def test_guids_are_the_same_wherever_the_schema_is(door: Door) -> None:
    first = await door.register("s", avro("a"))
    other = await door.register(":.shop:s", avro("a"))
    assert first["guid"] == other["guid"]
    assert (await door.get(f"/schemas/guids/{first['guid']}"))["schema"] == avro("a")
    assert await door.get(f"/schemas/guids/{first['guid']}/ids") == [
        {"context": ".", "id": 1},
        {"context": ".shop", "id": 1},
    ]
    assert await door.code("GET", "/schemas/guids/x") == 40403
    assert await door.code("GET", f"/schemas/guids/{'0' * 32}/ids") == 40403


@trio_test
async def test_all_schemas_are_listed(door: Door) -> None:
    await door.register("s", avro("a"))
    await door.register("s", avro("a", "b="))
    await door.register("t", avro("a"))
    await door.ask("DELETE", "/subjects/s/versions/1")

    async def listed(query: str = "") -> list[tuple[str, int]]:
        return [(each["subject"], each["version"]) for each in await door.get(f"/schemas{query}")]

    assert await listed() == [("s", 2), ("t", 1)]
    assert await listed("?deleted=true") == [("s", 1), ("s", 2), ("t", 1)]
    assert await listed("?deleted=true&latestOnly=true") == [("s", 2), ("t", 1)]
    assert await listed("?subjectPrefix=t") == [("t", 1)]
    assert await listed("?offset=1&limit=5") == [("t", 1)]
    assert "AVRO" in await door.get("/schemas/types")
