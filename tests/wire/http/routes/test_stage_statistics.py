"""Figures of stages over HTTP."""

from pathlib import Path

from trio.testing import trio_test

from tests.engine.stage.world import client_batch, record
from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import open_http_door
from tests.wire.http.test_any_node import SMALL, knows
from tests.wire.kafka.requests import create_topic, produced
from wire.kafka.nodes.carrying import Carrying


@trio_test
async def test_delayed_records_are_counted_in_all_and_by_topic(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        for name in ("b", "a"):
            await create_topic(client, name)
            await produced(client, name, client_batch([record("x", delay=3_600_000)]))
        found = await door.get("/delay/stats?limit=1")
        assert (found["sum"]["pending"], found["sum"]["staged"], found["total"]) == (2, 2, 2)
        assert [each["topic"] for each in found["items"]] == ["a"]
        assert found["items"][0]["next_due_ms"] > 0
        assert len(found["sum"]["lateness"]["counts"]) == len(found["sum"]["lateness"]["bounds_ms"]) + 1


@trio_test
async def test_lanes_are_told_with_critical_first(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", configs={"priority.enable": "true"})
        await produced(client, "t", client_batch([record("x", priority=0), record("y", priority=4)]))
        found = await door.get("/priority/stats?topic=t")
        (partition,) = found["items"]
        assert (partition["topic"], partition["partition"], partition["ready"]) == ("t", 0, [1, 0, 0, 0, 1])
        assert (await door.ask("GET", "/priority/stats?topic=nothing")).status == 404


@trio_test
async def test_any_node_tells_the_figures_of_all_and_who_cannot_be_asked(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, **SMALL) as doors:
        client = await doors[1].connect()
        await create_on(client, "t", (1,), (2,))
        await create_on(client, "lanes", (2,))
        await knows(doors, "t")
        await knows(doors, "lanes")
        records = [{"value": "x", "partition": each, "delay": 3_600_000} for each in (0, 1, 1)]
        for topic, body in (("t", records), ("lanes", [{"value": "x", "priority": "critical"}])):
            assert (await doors[1].ask("POST", f"/topics/{topic}/messages", body=body)).json()["failed"] == 0
        for door in doors.values():
            delays = await door.get("/delay/stats")
            assert [(each["topic"], each["pending"]) for each in delays["items"]] == [("lanes", 0), ("t", 3)]
            assert (delays["sum"]["pending"], delays["missing_nodes"]) == (3, [])
            (lanes,) = (await door.get("/priority/stats"))["items"]
            assert (lanes["topic"], lanes["node"], lanes["ready"]) == ("lanes", 2, [1, 0, 0, 0, 0])
            assert (await door.get("/priority/stats?limit=1&skip=1"))["items"] == []
        doors[1].broker.node.services[Carrying].links = None
        for path, told in (("/delay/stats", 1), ("/priority/stats", 0)):
            found = await doors[1].get(path)
            assert (len(found["items"]), found["missing_nodes"]) == (told, [2])
