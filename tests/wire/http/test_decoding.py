"""Records shown by the schemas that they name: in documents, lines and events, and what is told where that fails."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from uuid import UUID

from trio.testing import trio_test

from coordinators.schemas.formats import by_name
from tests.coordinators.schemas.formats.avro.orders import written
from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.http.rest.test_by_schema import PROTO, registered
from tests.wire.http.routes.test_reading import EVENTS, LINES, open_stream, until
from tests.wire.http.two_tenants import HASH, open_two

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "dish", "type": "string"}, {"name": "id", "type": "long"}],
}
SOUP = {"dish": "soup", "id": 2**60 + 1}
HIDDEN = "names schema id 1, which is not there, or which you may not read"


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def framed(schema_id: int, payload: bytes) -> str:
    return base64(b"\0" + schema_id.to_bytes(4, "big") + payload)


async def write(door: HttpDoor, *records: dict[str, Any], topic: str = "t") -> None:
    answer = await door.ask("POST", f"/topics/{topic}/messages", {}, list(records))
    assert answer.json()["failed"] == 0, answer


async def decoded(door: HttpDoor, query: str = "") -> list[Any]:
    found = await door.get(f"/topics/t/messages?decode=true{query}")
    return [each["valueDecoded"] for each in found["messages"]]


async def open_filled(door: HttpDoor) -> None:
    """An order, by Avro, is in the topic."""
    await registered(door, "t-value", json.dumps(ORDER))
    await write(door, {"valueBase64": framed(1, written(ORDER, SOUP))})


@trio_test
async def test_keys_and_values_are_shown_with_the_schemas_that_they_name(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await registered(door, "other", json.dumps(ORDER))
        await registered(door, "t-value", '"string"')
        await registered(door, "t-key", PROTO, "PROTOBUF")
        key = by_name("PROTOBUF").parse(PROTO, ()).from_json({"id": 7})
        await write(
            door, {"keyBase64": framed(3, key), "valueBase64": framed(1, written(ORDER, SOUP))}, {"value": "plain"}
        )
        first, second = (await door.get("/topics/t/messages?decode=true"))["messages"]
        place = {"schemaType": "PROTOBUF", "subject": "t-key", "version": 1}
        assert first["keyDecoded"] == {"value": '{"id":7}', "schemaId": 3, **place, "error": ""}
        assert json.loads(first["valueDecoded"]["value"]) == SOUP
        assert (first["valueDecoded"]["subject"], first["valueDecoded"]["version"]) == ("other", 1)
        assert first["valueBase64"] or first["value"], "the bytes are there too"
        assert (second["keyDecoded"], second["valueDecoded"], second["value"]) == (None, None, "plain")
        assert "valueDecoded" not in (await door.get("/topics/t/messages"))["messages"][0]
        as_json = await decoded(door, "&format=json")
        assert as_json[0]["value"] == SOUP


@trio_test
async def test_a_schema_is_told_by_the_topics_own_subject_if_it_has_it(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await registered(door, "another", json.dumps(ORDER))
        await open_filled(door)
        await registered(door, "yet-another", json.dumps(ORDER))
        (found,) = await decoded(door)
        assert (found["schemaId"], found["subject"], found["version"]) == (1, "t-value", 1)


@trio_test
async def test_headers_name_schemas_by_their_guids(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await registered(door, "t-value", json.dumps(ORDER))
        guid = (await door.get("/schemas/subjects/t-value/versions/1"))["guid"]
        named = {"name": "__value_schema_id", "valueBase64": base64(b"\x01" + UUID(guid).bytes)}
        await write(door, {"valueBase64": base64(written(ORDER, SOUP)), "headers": [named]})
        (found,) = await decoded(door, "&format=json")
        assert (found["value"], found["schemaId"], found["subject"]) == (SOUP, 1, "t-value")


@trio_test
async def test_records_that_are_followed_are_shown_so_too(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await open_filled(door)
        lines = await open_stream(door, "/topics/t/messages?decode=true&follow=true&offset=latest", LINES)
        events = await open_stream(door, "/topics/t/messages?decode=true&offset=latest", EVENTS)
        async with lines.stream, events.stream:
            await until(lines, b"200 OK")
            await until(events, b"id: 0:1")
            await write(door, {"valueBase64": framed(1, written(ORDER, {"dish": "tea", "id": 3}))})
            for caller in (lines, events):
                assert b'"valueDecoded":{"value":"{\\"dish\\":\\"tea\\",\\"id\\":3}"' in await until(caller, b"t-value")


@trio_test
async def test_what_cannot_be_shown_is_told_next_to_its_bytes(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await open_filled(door)
        await registered(door, "json", '{"type": "integer"}', "JSON")
        bombs = (framed(1, b"\xff" * 9), framed(99, b"x"), framed(2, b'"no number"'), framed(1, b""))
        await write(door, *({"valueBase64": each} for each in bombs))
        answer = await door.get("/topics/t/messages?decode=true&format=base64")
        found = [each["valueDecoded"] for each in answer["messages"]]
        assert [each["value"] is None for each in found] == [False, True, True, True, True]
        reasons = [each["error"] for each in found]
        assert reasons[0] == ""
        assert reasons[1].startswith("does not fit schema id 1: dish: ")
        assert reasons[2] == "names schema id 99, which is not there, or which you may not read"
        assert reasons[3].startswith("does not fit schema id 2: ")
        assert reasons[4].startswith("does not fit schema id 1: dish: ")
        assert [each["valueBase64"] for each in answer["messages"]][1:] == list(bombs)


@trio_test
async def test_what_is_too_much_at_once_is_left_as_it_is(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await registered(door, "t-value", '"string"')
        for _ in range(3):
            await write(door, {"valueBase64": framed(1, written("string", "x" * 700_000))})
        found = await decoded(door, "&maxBytes=8000000")
        assert [each["error"] for each in found] == ["", "", "too much at once: read fewer records"]
        (last,) = await decoded(door, "&offset=0:2")
        assert last["error"] == ""


@trio_test
async def test_who_may_not_read_the_subject_sees_the_bytes_and_why(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"ann:{HASH}\nroot:{HASH}\n")
    asked = {"authorizer.enable": True, "super.users": "User:root", "http.enabled.mechanisms": "BASIC"}
    async with open_http_door(tmp_path / "data", {**asked, "sasl.plain.users.location": str(users)}) as door:
        root, ann = ({"authorization": f"Basic {base64(name + b':sesame')}"} for name in (b"root", b"ann"))
        body = {"schema": json.dumps(ORDER)}
        assert (await door.ask("POST", "/schemas/subjects/t-value/versions", root, body)).status == 200
        record = {"valueBase64": framed(1, written(ORDER, SOUP))}
        assert (await door.ask("POST", "/topics/t/messages", root, record)).status == 200

        async def anns() -> Any:
            (found,) = (await door.get("/topics/t/messages?decode=true&format=json", ann))["messages"]
            return found["valueDecoded"]

        async def permit(resource: str, name: str) -> None:
            rule = {"principal": "User:ann", "operation": "read", "resource": resource, "name": name}
            answer = await door.ask("POST", "/acls", root, {"items": [rule]})
            assert answer.status < 300, answer

        await permit("topic", "t")
        assert await anns() == {
            "value": None,
            "schemaId": None,
            "schemaType": None,
            "subject": None,
            "version": None,
            "error": HIDDEN,
        }
        await permit("subject", "t-value")
        assert (await anns())["value"] == SOUP


@trio_test
async def test_tenants_see_their_own_schemas_alone(tmp_path: Path) -> None:
    async with open_two(tmp_path) as two:
        await two.zulu.done("POST", "/schemas/subjects/secret/versions", {"schema": json.dumps(ORDER)})
        await two.acme.done("POST", "/schemas/subjects/t-value/versions", {"schema": '"string"'})
        records = [{"valueBase64": framed(1, written("string", "soup"))}, {"valueBase64": framed(2, b"")}]
        await two.acme.done("POST", "/topics/t/messages", records)
        first, second = (await two.acme.get("/topics/t/messages?decode=true"))["messages"]
        told = first["valueDecoded"]
        assert (told["value"], told["subject"], told["version"]) == ('"soup"', "t-value", 1)
        assert second["valueDecoded"]["error"].startswith("names schema id 2, which is not there")
