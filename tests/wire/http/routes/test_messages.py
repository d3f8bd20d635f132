"""Records written over HTTP."""

import json
from base64 import b64encode
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.tenants.administration import TenantAdministration
from coordinators.waiting import SLICE
from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.inner.house import House
from tests.wire.kafka.requests import create_topic
from wire.http.config import HttpLimits
from wire.http.messages import Call, Request
from wire.http.records import NewMessage
from wire.http.routes.messages import WriteQuery, write_messages
from wire.http.routes.topics import TopicPlace
from wire.inner.records import ReadRecord, SentRecord

NDJSON = {"content-type": "application/x-ndjson"}


async def written(door: HttpDoor, body: Any, query: str = "") -> Any:
    answer = await door.ask("POST", f"/topics/t/messages{query}", body=body)
    assert answer.status == 200, answer
    return answer.json()


async def held(door: HttpDoor, partition: int = 0) -> list[ReadRecord]:
    house = House(door.kafka)
    with house.guest() as guest:
        return list((await house.reading.read(guest, "t", partition, 0)).records)


@trio_test
async def test_a_record_with_everything_is_written_as_it_is_given(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 2)
        told = await written(
            door,
            {
                "key": "k",
                "value": {"n": [1, None]},
                "headers": [{"name": "a", "value": "x"}, {"name": "b", "valueBase64": "/w=="}, {"name": "c"}],
                "partition": 1,
                "timestamp": 5_000,
            },
        )
        assert told == {"messages": [{"partition": 1, "offset": 0, "timestamp": 5_000}], "failed": 0}
        (record,) = await held(door, 1)
        assert (record.key, record.value, record.timestamp_ms) == (b"k", b'{"n":[1,null]}', 5_000)
        assert record.headers == (("a", b"x"), ("b", b"\xff"), ("c", None))


@trio_test
async def test_values_are_text_json_bytes_or_nothing(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        await written(
            door,
            [{"value": "text"}, {"value": 7}, {"valueBase64": b64encode(b"\xff\0").decode()}, {"key": "only"}],
        )
        assert [record.value for record in await held(door)] == [b"text", b"7", b"\xff\0", None]


@trio_test
async def test_of_many_each_is_told_of(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 2)
        told = await written(door, [{"partition": 0}, {"partition": 9}, {"value": "later", "delay": 60_000}])
        first, second, third = told["messages"]
        assert (first["offset"], second["error"], told["failed"]) == (0, "UnknownTopicOrPartition", 1)
        assert "offset" not in third


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"partition": 9}, 404, "partitions 0 to 0"),
        ({"value": "x", "valueBase64": "eA=="}, 422, "not both"),
        ({"valueBase64": "%"}, 422, "valueBase64 is not base64"),
        ({"priority": "urgent"}, 422, "priority"),
        ({"delay": -1}, 422, "delay"),
        ({"delay": 1, "deliverAt": 2}, 400, "tide-deliver-at"),
        ({"colour": 1}, 422, "colour"),
        ({"value": "x" * 1_100_000}, 413, "http.max.request.bytes"),
    ],
)
@trio_test
async def test_what_cannot_be_written_is_told(tmp_path: Path, body: Any, status: int, said: str) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        answer = await door.ask("POST", "/topics/t/messages", body=body)
        assert (answer.status, said in answer.json()["detail"]) == (status, True), answer


@trio_test
async def test_a_stream_of_lines_is_answered_line_by_line(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        lines = [json.dumps({"value": f"{number}"}) for number in range(1_200)]
        lines[3], lines[4] = "nonsense", '{"delay": "soon"}'
        answer = await door.ask("POST", "/topics/t/messages", NDJSON, "\n".join(lines).encode())
        told = [json.loads(line) for line in answer.body.splitlines()]
        assert len(told) == 1_200
        assert [each.get("error", "") for each in told[2:6]] == ["", "InvalidRequest", "InvalidRequest", ""]
        offsets = [each["offset"] for each in told if "offset" in each]
        assert offsets == list(range(1_198))


@trio_test
async def test_acks_and_partitioner_are_obeyed(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 3)
        told = await written(door, {"key": "user123"}, "?partitioner=fnv1a&acks=none")
        assert told["messages"][0]["partition"] == 1
        assert "offset" not in told["messages"][0]
        assert (await written(door, {"key": "user123"}, "?acks=leader"))["messages"][0]["partition"] == 0
        assert (await door.ask("POST", "/topics/t/messages?acks=some", body={})).status == 422


@trio_test
async def test_who_may_not_write_is_refused(tmp_path: Path) -> None:
    settings: dict[str, object] = {"authorizer.enable": True, "allow.everyone.if.no.acl.found": False}
    async with open_http_door(tmp_path, {**settings, "super.users": "User:root"}) as door:
        answer = await door.ask("POST", "/topics/t/messages", body={"value": "x"})
        assert answer.status in (403, 404)


@trio_test
async def test_a_tenants_caller_has_topics_of_its_own_and_nothing_else(tmp_path: Path) -> None:
    shown = {"authorization": "Bearer secret"}
    settings: dict[str, object] = {"http.token": "secret", "http.token.principal": "User:ann"}
    async with open_http_door(tmp_path, settings) as door:
        administration = door.broker.node.services[TenantAdministration]
        await administration.create("acme", ("User:ann",), rewrite=True)
        told = await door.ask("POST", "/topics/orders/messages", shown, {"value": "mine"})
        assert told.status == 200, told
        assert "acme.orders" in door.broker.node.topics.by_name
        found = (await door.ask("GET", "/topics/orders/messages", shown)).json()
        assert [each["value"] for each in found["messages"]] == ["mine"]
        assert (await door.ask("GET", "/metrics", shown)).status == 403


@trio_test
async def test_others_have_their_turns_while_many_records_are_understood() -> None:
    count, turns = 10_000, 0

    class Sent:
        async def send(self, guest: object, topic: str, records: list[object], **_: object) -> list[SentRecord]:
            return [SentRecord(0, number, 0) for number in range(len(records))]

    class Inner:
        def guest(self, *_: object) -> AbstractContextManager[None]:
            return nullcontext()

    async def count_turns(task_status: trio.TaskStatus[None]) -> None:
        nonlocal turns
        task_status.started()
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    call = Call(TopicPlace("t"), WriteQuery(), [NewMessage(value="v")] * count, Request("POST", "/"))
    async with trio.open_nursery() as nursery:
        await nursery.start(count_turns)
        told: Any = await write_messages(call, Inner(), Sent(), HttpLimits())  # type: ignore[arg-type]
        nursery.cancel_scope.cancel()
    assert len(told.messages) == count
    assert turns >= 2 * count / SLICE, "before they are written, and after"
