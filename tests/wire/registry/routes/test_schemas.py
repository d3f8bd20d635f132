"""`/schemas`: by id, by guid, all of them."""

import json
from base64 import b64decode

from google.protobuf import descriptor_pb2
from trio.testing import trio_test

from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door


@trio_test
async def test_schemas_are_given_in_other_forms(door: Door) -> None:
    await door.register("order", avro("a"))
    references = [{"name": "Order", "subject": "order", "version": 1}]
    found = await door.register("basket", '{"type":"array","items":"Order"}', references=references)
    for path in (f"/schemas/ids/{found['id']}", f"/schemas/guids/{found['guid']}", "/subjects/basket/versions/latest"):
        resolved = json.loads((await door.get(f"{path}?format=resolved"))["schema"])
        assert resolved == {"type": "array", "items": json.loads(avro("a"))}
        assert (await door.get(f"{path}?format=other"))["schema"] == '{"type":"array","items":"Order"}'
    proto = 'syntax = "proto3"; package shop; message Order { int32 id = 1; }'
    found = await door.register("proto", proto, schemaType="PROTOBUF")
    shown = await door.get(f"/schemas/ids/{found['id']}?format=serialized&fetchMaxId=true")
    described = descriptor_pb2.FileDescriptorProto.FromString(b64decode(shown["schema"]))
    assert (described.package, described.message_type[0].name, shown["maxId"]) == ("shop", "Order", 3)
    assert (await door.get("/subjects/proto/versions/1?format=resolved"))["schema"] == proto
    body = {"schema": proto, "schemaType": "PROTOBUF"}
    status, looked_up = await door.ask("POST", "/subjects/proto?format=serialized", body)
    assert (status, looked_up["schema"]) == (200, shown["schema"])


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
