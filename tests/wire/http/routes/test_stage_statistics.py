"""Figures of stages over HTTP."""

from pathlib import Path

from trio.testing import trio_test

from tests.engine.stage.world import client_batch, record
from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic, produced


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
