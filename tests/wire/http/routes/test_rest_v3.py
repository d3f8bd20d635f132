"""The cluster, its topics and records written, as v3 of Confluent's REST proxy has it."""

import json
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.http.routes.test_rest_produce import base64, post, stored

JSON = "application/json"


async def topics_url(door: HttpDoor) -> str:
    clusters = await door.get("/v3/clusters")
    url: str = clusters["data"][0]["topics"]["related"]
    assert url.startswith(f"http://127.0.0.1:{door.port}/v3/clusters/")
    return url.partition(f":{door.port}")[2]


def objects(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines() if line]


@trio_test
async def test_topics_are_made_listed_described_and_deleted(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        url = await topics_url(door)
        wanted = {"topic_name": "t", "partitions_count": 2, "configs": [{"name": "retention.ms", "value": "1000"}]}
        made = await post(door, url, wanted, JSON)
        assert (made.status, made.json()["partitions_count"]) == (201, 2)
        assert (await post(door, url, wanted, JSON)).status == 409
        assert [each["topic_name"] for each in (await door.get(url))["data"]] == ["t"]
        partitions = (await door.get(f"{url}/t/partitions"))["data"]
        assert [each["partition_id"] for each in partitions] == [0, 1]
        assert (await door.get(f"{url}/t"))["replication_factor"] == 1
        assert (await door.ask("DELETE", f"{url}/t", {"x-tidegate": "1"})).status == 204
        gone = await door.ask("GET", f"{url}/t")
        assert (gone.status, gone.json()["error_code"]) == (404, 40401)


@trio_test
async def test_a_record_says_how_its_key_and_value_stand(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        url = await topics_url(door)
        record = {
            "key": {"type": "STRING", "data": "k"},
            "value": {"type": "BINARY", "data": base64(b"\0\1")},
            "headers": [{"name": "h", "value": base64(b"1")}],
            "timestamp": "2026-02-05T19:14:42Z",
        }
        answer = await post(door, f"{url}/t/records", record, JSON)
        told = answer.json()
        assert (told["error_code"], told["topic_name"], told["partition_id"], told["offset"]) == (200, "t", 0, 0)
        assert told["timestamp"] == "2026-02-05T19:14:42.000Z"
        assert (told["key"], told["value"]) == ({"type": "STRING", "size": 1}, {"type": "BINARY", "size": 2})
        (found,) = await stored(door, "t")
        assert (found.key, found.value, found.headers) == (b"k", b"\0\1", (("h", b"1"),))


@trio_test
async def test_many_objects_on_one_request_have_an_answer_each(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        url = await topics_url(door)
        records: list[Any] = [{"value": {"type": "JSON", "data": number}} for number in range(5)]
        records[2] = {"value": {"type": "AVRO", "data": "x"}}
        records[3] = {"partition_id": "x"}
        body = "".join(map(json.dumps, records)).encode()
        answers = objects((await post(door, f"{url}/t/records", body, JSON)).body)
        assert [each["error_code"] for each in answers] == [200, 200, 404, 42203, 200]
        assert [each.get("offset") for each in answers] == [0, 1, None, None, 2]
        assert [each.value for each in await stored(door, "t")] == [b"0", b"1", b"4"]


@trio_test
async def test_a_batch_names_its_entries(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        url = await topics_url(door)
        entries = [
            {"id": "a", "value": {"type": "STRING", "data": "x"}},
            {"id": "b", "value": {"type": "BINARY", "data": "no base64!"}},
            {"id": "c", "partition_id": 7, "value": {"type": "STRING", "data": "y"}},
        ]
        answer = await post(door, f"{url}/t/records:batch", {"entries": entries}, JSON)
        told = answer.json()
        assert answer.status == 207
        assert [(each["id"], each["offset"]) for each in told["successes"]] == [("a", 0)]
        assert [(each["id"], each["error_code"]) for each in told["failures"]] == [("b", 42203), ("c", 404)]


@trio_test
async def test_another_cluster_is_not_here(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        answer = await door.ask("GET", "/v3/clusters/other/topics")
        assert (answer.status, answer.json()["error_code"]) == (404, 404)
        for body in (b"", b"{", b"1", b'{"value": {}'):
            answer = await post(door, f"{await topics_url(door)}/t/records", body, JSON)
            assert answer.status == 400


@trio_test
async def test_a_request_that_goes_on_is_answered_while_it_comes(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        path = f"{await topics_url(door)}/t/records"
        caller = await door.caller()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {JSON}\r\ntransfer-encoding: chunked\r\n\r\n"
        await caller.stream.send_all(head.encode())
        received = b""
        for number in range(3):
            record = json.dumps({"value": {"type": "STRING", "data": str(number)}}).encode()
            await caller.stream.send_all(b"%x\r\n%s\r\n" % (len(record), record))
            with trio.fail_after(20):
                while f'"offset":{number}'.encode() not in received:
                    received += await caller.stream.receive_some(65536)
        await caller.stream.send_all(b'3\r\n{"k\r\n0\r\n\r\n')
        with trio.fail_after(20):
            while b"whole JSON object" not in received:
                received += await caller.stream.receive_some(65536)
        assert [record.value for record in await stored(door, "t")] == [b"0", b"1", b"2"]
        await caller.stream.aclose()


@trio_test
async def test_a_body_without_a_record_is_refused(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        path = f"{await topics_url(door)}/t/records"
        for body in (b"", b"   ", b"[]", b"nonsense", b"{"):
            answer = await door.ask("POST", path, {"content-type": JSON, "x-tidegate": "1"}, body)
            assert (answer.status, answer.json()["error_code"]) == (400, 400), body
