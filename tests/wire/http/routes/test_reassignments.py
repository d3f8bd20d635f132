"""Partitions that move, over HTTP: begun, seen, done; and what is refused."""

from pathlib import Path

import trio
from trio.testing import trio_test

from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.guarded import open_guarded
from tests.wire.kafka.requests import create_topic

PATH = "/cluster/reassignments"


async def order(door: HttpDoor, topic: str, partition: int, replicas: list[int] | None) -> str | None:
    """What was refused, if so."""
    body = {"items": [{"topic": topic, "partition": partition, "replicas": replicas}]}
    answer = await door.ask("POST", PATH, body=body)
    assert answer.status == 200, answer.body
    error: str | None = answer.json()["items"][0]["error"]
    return error


@trio_test
async def test_what_cannot_be_is_refused_for_each_partition(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        assert (await door.get(PATH))["items"] == []
        assert await order(door, "t", 0, [7]) == "InvalidReplicaAssignment"
        assert await order(door, "t", 0, None) == "NoReassignmentInProgress"
        assert await order(door, "gone", 0, [1]) == "UnknownTopicOrPartition"
        assert (await door.ask("POST", PATH, body={"items": []})).status == 422


@trio_test
async def test_rights_are_asked_for(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        door = HttpDoor(guarded.door)
        body = {"items": [{"topic": "t", "partition": 0, "replicas": [1]}]}
        assert [(await door.ask("GET", PATH)).status, (await door.ask("POST", PATH, body=body)).status] == [403, 403]


@trio_test
async def test_a_partition_moves_to_the_other_node(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path) as doors:
        await create_on(await doors[1].connect(), "t", (1,))
        assert await order(doors[1], "t", 0, [2]) is None

        async def is_there() -> bool:
            told = await doors[1].get("/cluster/partitions/t/0")
            return (told["leader"], [each["node_id"] for each in told["replicas"]]) == (2, [2])

        with trio.fail_after(30):
            while not await is_there():  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert (await doors[1].get(PATH))["items"] == []
