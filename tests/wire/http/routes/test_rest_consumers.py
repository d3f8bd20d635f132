"""Consumers as REST v2 has them: made, subscribed or assigned, read, committed, ended."""

import json
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.door import Answer, HttpDoor, open_http_door
from tests.wire.http.routes.test_rest_produce import BINARY, JSON, base64, post

V2 = "application/vnd.kafka.v2+json"
PATIENCE_S = 30.0


async def made(door: HttpDoor, group: str = "g", **wanted: Any) -> str:
    """The path of a new consumer that begins at the beginning."""
    document = {"auto.offset.reset": "earliest", **wanted}
    answer = await post(door, f"/consumers/{group}", document, V2)
    assert answer.status == 200, answer
    uri: str = answer.json()["base_uri"]
    assert uri == f"http://127.0.0.1:{door.port}/consumers/{group}/instances/{answer.json()['instance_id']}"
    return uri.partition(f":{door.port}")[2]


async def produced(door: HttpDoor, topic: str, *values: Any) -> None:
    answer = await post(door, f"/topics/{topic}", {"records": [{"value": each} for each in values]}, JSON)
    assert answer.status == 200


async def change(door: HttpDoor, method: str, target: str, document: Any = None) -> Answer:
    body = b"" if document is None else json.dumps(document).encode()
    return await door.ask(method, target, {"content-type": V2, "x-tidegate": "1"}, body)


async def records(door: HttpDoor, path: str, count: int) -> list[Any]:
    """So many records, in as many polls as it takes."""
    found: list[Any] = []
    with trio.fail_after(PATIENCE_S):
        while len(found) < count:
            answer = await door.ask("GET", f"{path}/records?timeout=5000")
            assert answer.status == 200, answer
            found += answer.json()
    return found


PARTITION = {"partitions": [{"topic": "t", "partition": 0}]}


@trio_test
async def test_a_subscribed_consumer_reads_what_its_group_has_not(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await produced(door, "t", {"n": 1}, {"n": 2})
        path = await made(door, format="json")
        assert (await change(door, "POST", f"{path}/subscription", {"topics": ["t"]})).status == 204
        assert (await door.get(f"{path}/subscription"))["topics"] == ["t"]
        found = await records(door, path, 2)
        assert [(each["topic"], each["partition"], each["offset"], each["value"]) for each in found] == [
            ("t", 0, 0, {"n": 1}),
            ("t", 0, 1, {"n": 2}),
        ]
        assert (await door.get(f"{path}/assignments")) == PARTITION
        assert (await change(door, "POST", f"{path}/offsets")).status == 204
        told = await change(door, "GET", f"{path}/offsets", PARTITION)
        assert told.json()["offsets"][0]["offset"] == 2
        assert (await change(door, "DELETE", path)).status == 204
        await produced(door, "t", {"n": 3})
        again = await made(door, format="json")
        await change(door, "POST", f"{again}/subscription", {"topics": ["t"]})
        assert [each["value"] for each in await records(door, again, 1)] == [{"n": 3}]


@trio_test
async def test_an_assigned_consumer_goes_where_it_likes(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await produced(door, "t", "a", "b", "c")
        path = await made(door, format="json", **{"auto.commit.enable": "false"})
        assert (await change(door, "POST", f"{path}/assignments", PARTITION)).status == 204
        assert [each["value"] for each in await records(door, path, 3)] == ["a", "b", "c"]
        seek = {"offsets": [{"topic": "t", "partition": 0, "offset": 1}]}
        assert (await change(door, "POST", f"{path}/positions", seek)).status == 204
        assert [each["value"] for each in await records(door, path, 2)] == ["b", "c"]
        assert (await change(door, "POST", f"{path}/positions/beginning", PARTITION)).status == 204
        assert len(await records(door, path, 3)) == 3
        assert (await change(door, "POST", f"{path}/positions/end", PARTITION)).status == 204
        assert (await door.get(f"{path}/records?timeout=0")) == []
        # The offset of the record that is done: the group goes on behind it.
        assert (await change(door, "POST", f"{path}/offsets", seek)).status == 204
        told = await change(door, "GET", f"{path}/offsets", PARTITION)
        assert told.json()["offsets"] == [{"topic": "t", "partition": 0, "offset": 2, "metadata": ""}]


@trio_test
async def test_headers_times_and_null_values_are_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        record = {"key": base64(b"k"), "value": None, "headers": [{"key": "h", "value": base64(b"1")}], "timestamp": 7}
        await post(door, "/topics/t", {"records": [record]}, BINARY)
        path = await made(door)
        await change(door, "POST", f"{path}/assignments", PARTITION)
        (found,) = await records(door, path, 1)
        assert (found["key"], found["value"], found["timestamp"]) == (base64(b"k"), None, 7)
        assert found["headers"] == [{"key": "h", "value": base64(b"1")}]


@trio_test
async def test_what_is_refused_has_the_proxys_codes(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await produced(door, "t", "a")
        path = await made(door, name="one", format="json")
        cases = [
            (await change(door, "POST", "/consumers/g", {"name": "one"}), 409, 40902),
            (await change(door, "GET", "/consumers/g/instances/other/records"), 404, 40403),
            (await change(door, "DELETE", "/consumers/g/instances/other"), 404, 40403),
            (await change(door, "GET", f"{path}/records"), 409, 40903),
            (await door.ask("GET", f"{path}/records", {"accept": BINARY}), 406, 40601),
            (await change(door, "POST", "/consumers/g", {"format": "xml"}), 422, 42204),
            (await change(door, "POST", "/consumers/g", {"auto.offset.reset": "now"}), 422, 42204),
            (await change(door, "POST", f"{path}/subscription", {"topic_pattern": ".*"}), 422, 42204),
            (await change(door, "POST", f"{path}/assignments", {"partitions": [{"topic": "t"}]}), 422, 42203),
        ]
        for answer, status, code in cases:
            assert (answer.status, answer.json()["error_code"]) == (status, code), answer
        await change(door, "POST", f"{path}/assignments", PARTITION)
        answer = await change(door, "POST", f"{path}/subscription", {"topics": ["t"]})
        assert (answer.status, answer.json()["error_code"]) == (409, 40903)


@trio_test
async def test_what_is_not_json_is_told_and_read_as_binary(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await post(door, "/topics/t", {"records": [{"value": base64(b"{")}]}, BINARY)
        path = await made(door, format="json")
        await change(door, "POST", f"{path}/assignments", PARTITION)
        answer = await door.ask("GET", f"{path}/records?timeout=5000")
        assert (answer.status, answer.json()["error_code"]) == (422, 42203)
