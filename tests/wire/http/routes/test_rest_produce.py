"""Records written as Confluent's REST proxy (v2) and Strimzi's bridge take them."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.http.door import Answer, HttpDoor, open_http_door
from tests.wire.inner.house import NOBODY
from wire.inner.asking import InnerClient
from wire.inner.reading import RecordReading
from wire.inner.records import ReadRecord

BINARY = "application/vnd.kafka.binary.v2+json"
JSON = "application/vnd.kafka.json.v2+json"
TEXT = "application/vnd.kafka.text.v2+json"


async def post(door: HttpDoor, target: str, document: Any, kind: str = BINARY) -> Answer:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return await door.ask("POST", target, {"content-type": kind}, body)


async def stored(door: HttpDoor, topic: str, partition: int = 0) -> list[ReadRecord]:
    services = door.broker.node.services
    with services[InnerClient].guest(NOBODY, "test") as guest:
        return list((await services[RecordReading].read(guest, topic, partition, 0)).records)


def base64(data: bytes) -> str:
    return b64encode(data).decode()


@trio_test
async def test_binary_records_are_in_base64(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        records = [{"key": base64(b"k"), "value": base64(b"\0v")}, {"value": None, "key": base64(b"k")}]
        answer = await post(door, "/topics/t", {"records": records})
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/vnd.kafka.v2+json"
        assert answer.json() == {
            "offsets": [
                {"partition": 0, "offset": 0, "error_code": None, "error": None},
                {"partition": 0, "offset": 1, "error_code": None, "error": None},
            ],
            "key_schema_id": None,
            "value_schema_id": None,
        }
        assert [(each.key, each.value) for each in await stored(door, "t")] == [(b"k", b"\0v"), (b"k", None)]


@trio_test
async def test_json_and_text_records_stand_as_they_are(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await post(door, "/topics/t", {"records": [{"key": "k", "value": {"a": [1, None]}}]}, JSON)
        await post(door, "/topics/t", {"records": [{"key": "k", "value": "grüß"}]}, f"{TEXT}; charset=utf-8")
        first, second = await stored(door, "t")
        assert (first.key, json.loads(first.value or b"")) == (b'"k"', {"a": [1, None]})
        assert (second.key, second.value) == (b"k", "grüß".encode())


@trio_test
async def test_strimzis_headers_and_times_are_kept(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        headers = [{"key": "h", "value": base64(b"1")}, {"key": "tide-ttl", "value": base64(b"60000")}]
        record = {"value": base64(b"v"), "headers": headers, "timestamp": 1_700_000_000_000}
        assert (await post(door, "/topics/t", {"records": [record]})).status == 200
        (found,) = await stored(door, "t")
        assert found.timestamp_ms == 1_700_000_000_000
        assert dict(found.headers)["h"] == b"1"


@trio_test
async def test_a_record_that_asks_to_wait_has_no_offset_yet(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        headers = [{"key": "tide-delay", "value": base64(b"3600000")}]
        answer = await post(door, "/topics/t", {"records": [{"value": base64(b"v"), "headers": headers}]})
        assert answer.json()["offsets"][0]["offset"] == -1


@trio_test
async def test_the_path_may_choose_the_partition(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"num.partitions": 3}) as door:
        answer = await post(door, "/topics/t/partitions/2", {"records": [{"value": base64(b"v")}]})
        assert answer.json()["offsets"][0]["partition"] == 2
        answer = await post(door, "/topics/t/partitions/3", {"records": [{"value": base64(b"v")}]})
        assert (answer.status, answer.json()["error_code"]) == (404, 40402)


@trio_test
async def test_one_bad_record_does_not_keep_the_others_from_being_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"num.partitions": 2}) as door:
        records = [{"value": base64(b"v"), "partition": 9}, {"value": base64(b"w"), "partition": 1}]
        answer = await post(door, "/topics/t", {"records": records})
        first, second = answer.json()["offsets"]
        assert answer.status == 200
        assert first["error_code"] == 1
        assert "partitions 0 to 1" in first["error"]
        assert (second["partition"], second["offset"]) == (1, 0)


UNREADABLE: tuple[tuple[Any, str, int, int], ...] = (
    ({"records": [{"value": "no base64!"}]}, BINARY, 422, 42203),
    ({"records": [{"value": 1}]}, BINARY, 422, 42203),
    ({"records": [{"value": {"a": 1}}]}, TEXT, 422, 42203),
    ({"records": []}, BINARY, 422, 42203),
    ({"records": [{"partition": -1}]}, BINARY, 422, 42203),
    ({}, BINARY, 422, 42203),
    (b"{", BINARY, 400, 400),
    (b'{"records": [{"value": ' + b"[" * 100_000, JSON, 400, 400),
    ({"records": [{"value": "x"}]}, "application/vnd.kafka.avro.v2+json", 422, 42202),
    ({"records": [{"value": "x"}]}, "application/vnd.kafka.what.v2+json", 415, 415),
)


@trio_test
async def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        for document, kind, status, code in UNREADABLE:
            answer = await post(door, "/topics/t", document, kind)
            assert (answer.status, answer.json()["error_code"]) == (status, code), answer
            assert answer.json()["message"]


@trio_test
async def test_a_topic_that_is_not_there_and_not_made_is_not_found(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"auto.create.topics.enable": False}) as door:
        answer = await post(door, "/topics/t", {"records": [{"value": base64(b"v")}]})
        assert (answer.status, answer.json()["error_code"]) == (404, 40401)
