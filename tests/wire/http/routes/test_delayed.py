"""Delayed records over HTTP: listed, looked at, cancelled, moved, released."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trio
from trio.testing import trio_test

from tests.engine.stage.world import client_batch, record
from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.requests import create_topic, produced

HOUR_MS = 3_600_000
CHANGE = {"x-tidegate": "1"}


@asynccontextmanager
async def staged(data_dir: Path) -> AsyncIterator[HttpDoor]:
    """A topic with records due in one, two and three hours, over two partitions."""
    async with open_http_door(data_dir) as door:
        client = await door.connect()
        await create_topic(client, "t", 2)
        first = record("one", delay=HOUR_MS, schedule_id="a/1")
        third = record("three", delay=3 * HOUR_MS)
        for partition, records in ((0, [first, third]), (1, [record("two", delay=2 * HOUR_MS, schedule_id="b")])):
            entry = await produced(client, "t", client_batch(records), partition=partition)
            assert entry.error_code == 0
        yield door


async def ids(door: HttpDoor, query: str = "") -> list[str]:
    return [each["id"] for each in (await door.get(f"/topics/t/delayed?{query}"))["items"]]


@trio_test
async def test_what_waits_is_listed_by_due_time_in_pages(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        page = await door.get("/topics/t/delayed?limit=2")
        assert [each["id"] for each in page["items"]] == ["a/1", "b"]
        assert (page["total"], page["next_skip"]) == (3, 2)
        first = page["items"][0]
        assert (first["partition"], first["state"], first["lane"]) == (0, "waiting", 2)
        assert abs(first["due_ms"] - time.time() * 1000 - HOUR_MS) < 60_000
        assert {"tide-schedule-id", "tide-delay"} <= {header["name"] for header in first["headers"]}
        assert await ids(door, "partition=1") == ["b"]
        assert len(await ids(door, "skip=2")) == 1


@trio_test
async def test_the_list_can_be_narrowed_by_due_time(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        now_ms = int(time.time() * 1000)
        middle = f"due_from_ms={now_ms + HOUR_MS * 3 // 2}&due_until_ms={now_ms + HOUR_MS * 5 // 2}"
        page = await door.get(f"/topics/t/delayed?{middle}")
        assert (page["total"], [each["id"] for each in page["items"]]) == (1, ["b"])
        upside_down = await door.ask("GET", "/topics/t/delayed?due_from_ms=5&due_until_ms=5")
        assert upside_down.status == 422


@trio_test
async def test_due_times_are_counted(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        edge_ms = int(time.time() * 1000) + HOUR_MS * 3 // 2
        found = await door.get(f"/topics/t/delayed/histogram?edges_ms={edge_ms}")
        assert found["buckets"] == [
            {"from_ms": None, "until_ms": edge_ms, "records": 1},
            {"from_ms": edge_ms, "until_ms": None, "records": 2},
        ]
        assert sum(each["records"] for each in (await door.get("/topics/t/delayed/histogram"))["buckets"]) == 3
        assert (await door.ask("GET", "/topics/t/delayed/histogram?edges_ms=2,1")).status == 422


@trio_test
async def test_one_record_is_shown_with_its_value(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        found = await door.get("/topics/t/delayed/0/a%2F1")
        assert (found["fate"], found["value"], found["record"]["id"]) == ("PENDING", "one", "a/1")


@trio_test
async def test_a_cancelled_record_is_remembered_as_such(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        assert (await door.ask("DELETE", "/topics/t/delayed/1/b", CHANGE)).status == 204
        assert (await door.get("/topics/t/delayed/1/b"))["fate"] == "CANCELLED"
        assert (await door.ask("DELETE", "/topics/t/delayed/1/b", CHANGE)).status == 409
        assert await ids(door, "partition=1") == []


@trio_test
async def test_a_record_is_moved_to_another_time(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        at_ms = int(time.time() * 1000) + 10 * HOUR_MS
        answer = await door.ask("PATCH", "/topics/t/delayed/0/a%2F1", body={"deliver_at_ms": at_ms})
        assert (answer.status, answer.json()) == (200, {"due_ms": at_ms})
        assert (await ids(door))[-1] == "a/1"


@trio_test
async def test_a_record_is_released_now(tmp_path: Path) -> None:
    async with staged(tmp_path) as door:
        assert (await door.ask("PATCH", "/topics/t/delayed/1/b", body={"release_now": True})).status == 200
        with trio.fail_after(10):
            while (found := await door.get("/topics/t/delayed/1/b"))["fate"] == "PENDING":
                pass
        assert (found["fate"], found["offset"]) == ("DELIVERED", 0)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/topics/t/delayed/0/nobody", {"delay_ms": 1}, 404),
        ("/topics/t/delayed/9/b", {"delay_ms": 1}, 404),
        ("/topics/nothing/delayed/0/b", {"delay_ms": 1}, 404),
        ("/topics/t/delayed/1/b", {}, 422),
        ("/topics/t/delayed/1/b", {"delay_ms": 1, "release_now": True}, 422),
        ("/topics/t/delayed/1/b", {"delay_ms": 2**53}, 422),
        ("/topics/t/delayed/x/b", {"delay_ms": 1}, 422),
    ],
)
@trio_test
async def test_what_cannot_be_moved_is_told(tmp_path: Path, path: str, body: dict[str, Any], status: int) -> None:
    async with staged(tmp_path) as door:
        assert (await door.ask("PATCH", path, body=body)).status == status


@trio_test
async def test_an_id_is_found_in_whichever_partition(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", 3)
        for partition in (0, 2):
            batch = client_batch([record("x", delay=3_600_000, schedule_id="order/1")])
            await produced(client, "t", batch, partition=partition)
        await produced(client, "t", client_batch([record("", cancel="order/1")]))
        target = f"/topics/t/delayed/fates?id={quote('order/1', safe='')}"
        page = await door.get(target)
        found = [(each["partition"], each["id"], each["fate"]) for each in page["items"]]
        assert (page["total"], found) == (2, [(0, "order/1", "CANCELLED"), (2, "order/1", "PENDING")])
        assert [each["partition"] for each in (await door.get(f"{target}&skip=1"))["items"]] == [2]
        assert (await door.get("/topics/t/delayed/fates?id=nobody"))["items"] == []
        assert (await door.ask("GET", "/topics/t/delayed/fates")).status == 422
        assert (await door.ask("GET", "/topics/other/delayed/fates?id=a")).status == 404
