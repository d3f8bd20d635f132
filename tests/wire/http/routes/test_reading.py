"""Records read over HTTP: documents, lines, events."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from tests.wire.http.door import Caller, HttpDoor, open_http_door
from tests.wire.kafka.requests import batch, create_topic, produced

EVENTS = {"accept": "text/event-stream"}
LINES = {"accept": "application/x-ndjson"}


async def filled(door: HttpDoor, *values: bytes, partitions: int = 1) -> None:
    client = await door.connect()
    await create_topic(client, "t", partitions)
    for number, value in enumerate(values):
        await produced(client, "t", batch([value], timestamp_ms=1_000 * (number + 1)), partition=number % partitions)


async def read(door: HttpDoor, query: str = "") -> Any:
    return await door.get(f"/topics/t/messages{query}")


def values(found: Any) -> list[Any]:
    return [each["value"] for each in found["messages"]]


async def open_stream(door: HttpDoor, target: str, headers: dict[str, str]) -> Caller:
    caller = await door.caller()
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    await caller.stream.send_all(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
    return caller


async def until(caller: Caller, *wanted: bytes) -> bytes:
    received = b""
    with trio.fail_after(20):
        while not all(each in received for each in wanted):
            piece = await caller.stream.receive_some(65536)
            assert piece, received
            received += piece
    return received


@trio_test
async def test_a_topic_is_read_page_by_page(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, b"a", b"b", b"c", b"d", partitions=2)
        first = await read(door, "?limit=3")
        second = await read(door, f"?offset={first['next']}")
        assert sorted(values(first) + values(second)) == ["a", "b", "c", "d"]
        assert (await read(door, f"?offset={second['next']}"))["messages"] == []


@trio_test
async def test_a_partition_is_read_from_an_offset_or_a_time(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, b"a", b"b", b"c")
        assert values(await door.get("/topics/t/partitions/0/messages?offset=1")) == ["b", "c"]
        assert values(await read(door, "?time=3000")) == ["c"]
        assert values(await read(door, "?offset=latest")) == []
        (first, *_) = (await read(door))["messages"]
        assert (first["partition"], first["offset"], first["timestamp"], first["key"]) == (0, 0, 1_000, "k")


@trio_test
async def test_values_are_given_as_they_are_wanted(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, b'{"a": 1}', b"\xff", b"plain")
        assert values(await read(door)) == ['{"a": 1}', None, "plain"]
        assert values(await read(door, "?format=json")) == [{"a": 1}, None, "plain"]
        in_base64 = (await read(door, "?format=base64"))["messages"]
        assert [each["valueBase64"] for each in in_base64] == ["eyJhIjogMX0=", "/w==", "cGxhaW4="]


@trio_test
async def test_a_filter_chooses(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, *[b'{"n": %d}' % number for number in range(20)])
        assert values(await read(door, "?filter=value.n%20%3D%207")) == ['{"n": 7}']
        assert (await door.ask("GET", "/topics/t/messages?filter=open(1)")).status == 422


@trio_test
async def test_a_read_waits_for_the_first_record(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door, trio.open_nursery() as nursery:
        await filled(door)
        found: list[Any] = []

        async def wait() -> None:
            found.append(await read(door, "?wait=20000"))

        nursery.start_soon(wait)
        await trio.sleep(0.1)
        assert not found
        await produced(await door.connect(), "t", batch([b"late"]))
        with trio.fail_after(10):
            while not found:  # noqa: ASYNC110
                await trio.sleep(0.01)
        assert values(found[0]) == ["late"]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/topics/none/messages", 404),
        ("/topics/t/partitions/3/messages", 404),
        ("/topics/t/partitions/0/messages?offset=99", 416),
        ("/topics/t/messages?offset=nonsense", 422),
        ("/topics/t/messages?offset=5:1", 422),
        ("/topics/t/messages?limit=0", 422),
    ],
)
@trio_test
async def test_what_cannot_be_read_is_told(tmp_path: Path, target: str, status: int) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, b"a")
        for headers in ({}, LINES) if status != 416 else ({},):
            answer = await door.ask("GET", target, headers)
            assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")


@trio_test
async def test_lines_end_at_the_end(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, *[b"%d" % number for number in range(1_100)])
        answer = await door.ask("GET", "/topics/t/messages", LINES)
        assert [json.loads(line)["value"] for line in answer.body.splitlines()] == [str(n) for n in range(1_100)]
        few = await door.ask("GET", "/topics/t/messages?limit=5", LINES)
        assert len(few.body.splitlines()) == 5


@trio_test
async def test_lines_can_follow(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.stream.heartbeat.ms": 50}) as door:
        await filled(door, b"old")
        caller = await open_stream(door, "/topics/t/messages?follow=true", LINES)
        await until(caller, b'"old"', b"1\r\n\n\r\n")
        await produced(await door.connect(), "t", batch([b"new"]))
        await until(caller, b'"new"')
        await caller.stream.aclose()


@trio_test
async def test_events_follow_and_go_on_where_they_were(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.stream.heartbeat.ms": 50}) as door:
        await filled(door, b"old", partitions=2)
        client = await door.connect()
        caller = await open_stream(door, "/topics/t/messages", EVENTS)
        head = await until(caller, b"id: 0:1,1:0\n", b": \n\n")
        assert b"content-type: text/event-stream" in head.lower()
        await produced(client, "t", batch([b"first"]), partition=1)
        event = await until(caller, b'"first"')
        assert b"id: 0:1,1:1\ndata: " in event
        await caller.stream.aclose()
        await produced(client, "t", batch([b"missed"]))
        again = await open_stream(door, "/topics/t/messages", {**EVENTS, "last-event-id": "0:1,1:1"})
        assert b'"first"' not in await until(again, b'"missed"')
        await again.stream.aclose()


@trio_test
async def test_many_follow_at_a_time_and_none_misses_anything_or_keeps_others_out(tmp_path: Path) -> None:
    readers, events = 60, 30
    wanted = [f'"value":"{number}"'.encode() for number in range(events)]
    async with open_http_door(tmp_path, {"http.max.connections": 4, "http.max.streams": readers}) as door:
        await filled(door, b"old")
        client = await door.connect()
        callers = []
        for _ in range(readers):
            callers.append(await open_stream(door, "/topics/t/messages", EVENTS))
            await until(callers[-1], b"id: 0:1\n")
        one_more = await door.ask("GET", "/topics/t/messages", EVENTS)
        assert (one_more.status, one_more.headers["retry-after"]) == (503, "5")
        assert (await door.ask("GET", "/health/live")).status == 200
        for number in range(events):
            await produced(client, "t", batch([b"%d" % number]))
        for caller in callers:
            received = await until(caller, *wanted)
            assert [received.count(each) for each in wanted] == [1] * events
        await callers[0].stream.aclose()
        again = await open_stream(door, "/topics/t/messages", EVENTS)
        await until(again, b"id: 0:%d\n" % (events + 1))
        for caller in (again, *callers):
            await caller.stream.aclose()


@trio_test
async def test_a_place_that_is_gone_goes_on_with_what_there_is(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await filled(door, b"here")
        caller = await open_stream(door, "/topics/t/messages", {**EVENTS, "last-event-id": "0:77"})
        await until(caller, b'"here"')
        await caller.stream.aclose()


@trio_test
async def test_events_end_with_the_topic_and_say_why(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.stream.heartbeat.ms": 50}) as door:
        await filled(door, b"old")
        caller = await open_stream(door, "/topics/t/messages", EVENTS)
        await until(caller, b": \n\n")
        assert (await door.ask("DELETE", "/topics/t")).status == 204
        assert b'"status":404' in await until(caller, b"event: error", b"0\r\n\r\n")
        await caller.stream.aclose()
