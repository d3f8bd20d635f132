"""Records over HTTP in a cluster: every node's door reaches what any node leads."""

import json
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import HttpDoor
from tests.wire.kafka.door import until
from wire.kafka.nodes.carrying import Carrying

LINES = {"accept": "application/x-ndjson"}
SMALL: dict[str, object] = {"offsets.topic.num.partitions": 2, "offsets.topic.replication.factor": 1}


async def knows(doors: dict[int, HttpDoor], topic: str) -> None:
    for door in doors.values():
        view = door.broker.node.topics
        await until(
            lambda view=view: topic in view.by_name and all(row.leader > 0 for row in view.by_name[topic].partitions)
        )


async def written(door: HttpDoor, body: Any) -> list[Any]:
    answer = await door.ask("POST", "/topics/t/messages", body=body)
    assert answer.status == 200, answer
    told: list[Any] = answer.json()["messages"]
    return told


@trio_test
async def test_records_are_written_and_read_at_any_node(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, **SMALL) as doors:
        # A partition on each node alone: whoever is asked, one of them is led elsewhere.
        await create_on(await doors[1].connect(), "t", (1,), (2,))
        await knows(doors, "t")
        for number, door in doors.items():
            told = await written(door, [{"value": f"{number}-{each}", "partition": each} for each in range(2)])
            assert [each["offset"] for each in told] == [number - 1, number - 1]
        for door in doors.values():
            found = await door.get("/topics/t/messages")
            assert sorted(each["value"] for each in found["messages"]) == ["1-0", "1-1", "2-0", "2-1"]
            by_time = await door.get("/topics/t/messages?time=0&filter=value%20^=%202")
            assert sorted(each["value"] for each in by_time["messages"]) == ["2-0", "2-1"]
        assert doors[1].broker.node.services[Carrying].links is not None


@trio_test
async def test_groups_are_committed_for_at_any_node(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, **SMALL) as doors:
        await create_on(await doors[1].connect(), "t", (1,))
        await knows(doors, "t")
        # Some of these are coordinated by one node, some by the other.
        for group in ("a", "b", "c", "d"):
            for number, door in doors.items():
                target = f"/consumer-groups/offsets/commit?group={group}"
                answer = await door.ask("POST", target, body={"topic": "t", "partition": 0, "offset": number})
                assert answer.status == 200, answer


@trio_test
async def test_groups_are_listed_shown_and_deleted_at_any_node(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, **SMALL) as doors:
        await create_on(await doors[1].connect(), "t", (1, 2))
        await knows(doors, "t")
        for group in ("a", "b", "c", "d"):
            target = f"/consumer-groups/offsets/commit?group={group}"
            assert (await doors[1].ask("POST", target, body={"topic": "t", "partition": 0, "offset": 0})).status == 200
        view = doors[1].broker.node.topics.by_name["__consumer_offsets"]
        assert {each.leader for each in view.partitions} == {1, 2}, "each coordinates some"
        for door in doors.values():
            listed = await door.get("/groups?limit=3")
            assert ([each["group"] for each in listed["items"]], listed["total"]) == (["a", "b", "c"], 4)
            assert listed["missing_nodes"] == []
            for group in ("a", "b", "c", "d"):
                found = await door.get(f"/groups/{group}")
                assert [each["committed_offset"] for each in found["offsets"]["items"]] == [0]
            assert (await door.ask("GET", "/groups/nobody")).status == 404
        for group in ("a", "b", "c", "d"):
            assert (await doors[2].ask("DELETE", f"/groups/{group}", {"x-tidegate": "1"})).status == 204
        assert (await doors[1].get("/groups"))["items"] == []


@trio_test
async def test_a_topic_led_elsewhere_is_followed_and_waits_keep_nobody(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, **SMALL) as doors, trio.open_nursery() as nursery:
        await create_on(await doors[1].connect(), "t", (2,))
        await knows(doors, "t")
        found: list[Any] = []

        async def follow() -> None:
            answer = await doors[1].ask(
                "GET", "/topics/t/messages?follow=true&limit=2", {"accept": "application/x-ndjson"}
            )
            found.extend(json.loads(line) for line in answer.body.split(b"\n") if line)

        nursery.start_soon(follow)
        await trio.sleep(0.2)
        # Over the same link as the reader's long poll, which is not answered yet.
        with trio.fail_after(5):
            await written(doors[1], {"value": "first"})
            await written(doors[1], {"value": "second"})
        await until(lambda: len(found) == 2)
        assert [each["value"] for each in found] == ["first", "second"]
