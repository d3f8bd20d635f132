"""Keys and values by schemas, as Confluent's REST proxy takes and gives them: Avro, JSON Schema and Protobuf."""

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from coordinators.schemas.registry import Registry
from tests.wire.http.door import Answer, HttpDoor, open_http_door
from tests.wire.http.routes.test_rest_consumers import change, made, records
from tests.wire.http.routes.test_rest_produce import base64, post, stored

AVRO = "application/vnd.kafka.avro.v2+json"
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}, NOTE]}
JSON_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
PROTO = 'syntax = "proto3"; message Order { int32 id = 1; string note = 2; }'
SCHEMAS = {"avro": json.dumps(ORDER), "jsonschema": json.dumps(JSON_SCHEMA), "protobuf": PROTO}
VALUES: dict[str, Any] = {
    "avro": {"id": 7, "note": {"string": "fragile"}},
    "jsonschema": {"id": 7, "note": "fragile"},
    "protobuf": {"id": 7, "note": "fragile"},
}


def kind(name: str) -> str:
    return f"application/vnd.kafka.{name}.v2+json"


async def registered(door: HttpDoor, subject: str, text: str, schema_type: str = "AVRO") -> int:
    body = json.dumps({"schema": text, "schemaType": schema_type}).encode()
    headers = {"content-type": "application/json"}
    answer = await door.ask("POST", f"/schemas/subjects/{subject}/versions", headers, body)
    assert answer.status == 200, answer
    return int(answer.json()["id"])


async def read(door: HttpDoor, topic: str, name: str, count: int = 1) -> list[Any]:
    path = await made(door, f"group-of-{topic}", format=name)
    await change(door, "POST", f"{path}/subscription", {"topics": [topic]})
    return await records(door, path, count)


@trio_test
@pytest.mark.parametrize("name", sorted(SCHEMAS))
async def test_values_are_written_by_their_schema_and_read_back(tmp_path: Path, name: str) -> None:
    async with open_http_door(tmp_path) as door:
        body = {"value_schema": SCHEMAS[name], "records": [{"value": VALUES[name]}, {"value": None}]}
        answer = await post(door, "/topics/t", body, kind(name))
        told = answer.json()
        assert (answer.status, told["key_schema_id"], told["value_schema_id"]) == (200, None, 1)
        first, second = await stored(door, "t")
        assert (first.value or b"")[:5] == b"\0\0\0\0\x01"
        assert second.value is None
        by_id = {"value_schema_id": 1, "records": [{"value": VALUES[name]}]}
        assert (await post(door, "/topics/t/partitions/0", by_id, kind(name))).status == 200
        assert [each["value"] for each in await read(door, "t", name, 3)] == [VALUES[name], None, VALUES[name]]
        assert await door.get("/schemas/subjects/t-value/versions") == [1], "it was registered once"


@trio_test
async def test_keys_have_a_schema_of_their_own(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        body = {
            "key_schema": '"string"',
            "value_schema": SCHEMAS["avro"],
            "records": [{"key": "k", "value": VALUES["avro"]}],
        }
        told = (await post(door, "/topics/t", body, AVRO)).json()
        assert (told["key_schema_id"], told["value_schema_id"]) == (1, 2)
        assert (await stored(door, "t"))[0].key == b"\0\0\0\0\x01\x02k"
        (found,) = await read(door, "t", "avro")
        assert (found["key"], found["value"]) == ("k", VALUES["avro"])


@trio_test
async def test_what_cannot_be_written_is_refused_by_confluents_codes(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        value = [{"value": VALUES["avro"]}]

        async def code(document: Any, name: str = "avro") -> int:
            return int((await post(door, "/topics/t", document, kind(name))).json()["error_code"])

        assert await code({"records": value}) == 42202
        assert await code({"records": [{"key": "k", "value": None}]}) == 42201
        assert await code({"value_schema": "nonsense", "records": value}) == 42205
        assert await code({"value_schema_id": 9, "records": value}) == 404
        unfit = {"value_schema": SCHEMAS["avro"], "records": [{"value": {"id": "seven"}}]}
        assert await code(unfit) == 42203
        assert "id: text is no int" in (await post(door, "/topics/t", unfit, AVRO)).json()["message"]
        assert await code({"value_schema_id": 1, "records": value}, "protobuf") == 42205
        incompatible = {**ORDER, "fields": [{"name": "other", "type": "int"}]}
        assert await code({"value_schema": json.dumps(incompatible), "records": [{"value": {"other": 1}}]}) == 409
        assert await code({"value_schema": json.dumps(JSON_SCHEMA), "records": [{"value": {}}]}, "jsonschema") == 409


@trio_test
async def test_what_names_no_schema_cannot_be_read_by_one(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await post(door, "/topics/t", {"records": [{"value": base64(b"plain")}]})
        path = await made(door, format="avro")
        await change(door, "POST", f"{path}/assignments", {"partitions": [{"topic": "t", "partition": 0}]})
        answer = await door.ask("GET", f"{path}/records?timeout=5000")
        assert (answer.status, answer.json()["error_code"]) == (422, 42203)


@trio_test
async def test_guids_in_headers_are_understood(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await registered(door, "t-value", '"string"')
        guid = bytes.fromhex((await door.get("/schemas/ids/1"))["guid"].replace("-", ""))
        headers = [{"key": "__value_schema_id", "value": base64(b"\x01" + guid)}]
        await post(door, "/topics/t", {"records": [{"value": base64(b"\x02x"), "headers": headers}]})
        (found,) = await read(door, "t", "avro")
        assert found["value"] == "x"


# -- v3


async def post_v3(door: HttpDoor, *documents: Any) -> list[Any]:
    cluster = (await door.get("/v3/clusters"))["data"][0]["cluster_id"]
    body = b"".join(json.dumps(each).encode() for each in documents)
    headers = {"content-type": "application/json"}
    answer: Answer = await door.ask("POST", f"/v3/clusters/{cluster}/topics/t/records", headers, body)
    assert answer.status == 200, answer
    return [json.loads(line) for line in answer.body.splitlines()]


@trio_test
async def test_v3_takes_a_schema_by_text_id_and_subject(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        data = VALUES["avro"]
        told = await post_v3(
            door,
            {"value": {"type": "AVRO", "schema": SCHEMAS["avro"], "data": data}},
        )
        assert (told[0]["error_code"], told[0]["value"]) == (200, {"type": "AVRO", "size": 15})
        told = await post_v3(
            door,
            {"value": {"schema_id": 1, "data": data}},
            {"value": {"subject": "t-value", "schema_version": 1, "data": data}},
            {"value": {"type": "AVRO", "data": data}},
            {"value": {"type": "AVRO", "data": {"id": "x"}}},
            {"value": {"type": "PROTOBUF", "schema_id": 1, "data": {}}},
            {"value": {"type": "AVRO", "subject": "none", "data": data}},
            {"value": {"type": "JSON", "schema_id": 1, "data": data}},
        )
        assert [each["error_code"] for each in told] == [200, 200, 200, 42203, 42205, 404, 422]
        assert [each["value"] for each in await read(door, "t", "avro", 4)] == [data] * 4


# -- rights


@trio_test
async def test_schemas_are_used_and_registered_in_the_callers_name(tmp_path: Path) -> None:
    settings: dict[str, object] = {"authorizer.enable": True, "allow.everyone.if.no.acl.found": False}
    async with open_http_door(tmp_path, {**settings, "super.users": "User:root"}) as door:
        body = {"value_schema": '"string"', "records": [{"value": "x"}]}
        assert (await post(door, "/topics/t", body, AVRO)).status == 403
        assert not door.broker.node.services[Registry].subjects, "nothing was registered"
        by_id = {"value_schema_id": 1, "records": [{"value": "x"}]}
        assert (await post(door, "/topics/t", by_id, AVRO)).status == 404
