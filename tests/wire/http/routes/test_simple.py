"""The least that a script needs: one record in, records out, an offset committed."""

from base64 import b64decode
from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.groups import group_door
from tests.wire.kafka.requests import create_topic

FORM = {"content-type": "application/x-www-form-urlencoded"}


@trio_test
async def test_a_record_goes_in_and_comes_out(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "orders", 3)
        answer = await door.ask("POST", "/topics/events?topic=orders", body={"key": "user123", "payload": "hello"})
        assert (answer.status, answer.json()) == (200, {"partition": 1, "offset": 0})
        found = await door.get("/messages?topic=orders&partition=1&offset=0&maxBytes=1048576")
        (message,) = found["messages"]
        assert (message["offset"], message["key"], b64decode(message["payload"])) == (0, "user123", b"hello")
        assert message["timestamp"] > 10**18
        assert found["nextOffset"] == 1


@trio_test
async def test_what_curl_sends_by_itself_is_taken(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        answer = await door.ask("POST", "/topics/events?topic=made", FORM, b'{"payload": {"a": 1}}')
        assert answer.json() == {"partition": 0, "offset": 0}
        from_page = {**FORM, "sec-fetch-site": "same-origin", "x-tidegate": "1"}
        assert (await door.ask("POST", "/topics/events?topic=made", from_page, b'{"payload": 1}')).status == 415


@trio_test
async def test_a_topic_called_events_is_a_topic_as_well(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "events")
        assert (await door.get("/topics/events"))["name"] == "events"
        v2 = {"content-type": "application/vnd.kafka.json.v2+json; charset=utf-8"}
        answer = await door.ask("POST", "/topics/events", v2, b'{"records": [{"value": 1}]}')
        assert answer.json()["offsets"][0]["offset"] == 0
        answer = await door.ask("POST", "/topics/events?topic=events", body={"payload": 2})
        assert answer.json() == {"partition": 0, "offset": 1}


@trio_test
async def test_an_offset_is_committed_unless_the_group_has_members(tmp_path: Path) -> None:
    async with group_door(tmp_path, **{"http.port": -1}) as groups:
        door = HttpDoor(groups.door)
        commit = "/consumer-groups/offsets/commit?group=g"
        answer = await door.ask("POST", commit, body={"topic": "t", "partition": 0, "offset": 7})
        assert (answer.status, answer.json()) == (200, {"status": "committed"})
        assert (await door.get("/groups/g"))["offsets"]["items"][0]["committed_offset"] == 7
        missing = await door.ask("POST", commit, body={"topic": "none", "partition": 0, "offset": 7})
        assert missing.status == 404
        await (await groups.member()).settle()
        answer = await door.ask("POST", commit, body={"topic": "t", "partition": 0, "offset": 9})
        assert (answer.status, "has members" in answer.json()["detail"]) == (409, True)
