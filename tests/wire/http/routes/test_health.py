"""Probes and the state of health."""

from pathlib import Path

from trio.testing import trio_test

from engine.clock import ManualClock
from engine.errors import StorageError
from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic
from wire.http.surroundings import Phase


@trio_test
async def test_a_broker_that_is_up_is_well(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 3)
        health = await door.get("/health")
        assert (health["status"], health["partitions"], health["offline_partitions"]) == ("ok", 3, 0)
        assert health["uptime_seconds"] >= 0
        assert await door.get("/health/live") == await door.get("/health/ready") == {"status": "ok"}


@trio_test
async def test_uptime_is_what_has_passed_though_the_wall_clock_is_set(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        set_back = ManualClock(
            wall_ms=door.broker.clock.now_ms() - 1_731_000, seconds=door.broker.clock.monotonic() + 5
        )
        door.broker.operations.surroundings.clock = set_back
        assert 5 <= (await door.get("/health"))["uptime_seconds"] < 65


@trio_test
async def test_an_offline_partition_is_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        made = await create_topic(await door.connect(), "t", 2)
        partition = door.broker.node.partitions.get(made.topic_id, 1)
        assert partition is not None
        partition.offline = StorageError("the disk is broken")
        answer = await door.ask("GET", "/health")
        partition.offline = None
        assert (answer.status, answer.json()["status"], answer.json()["offline_partitions"]) == (503, "degraded", 1)


@trio_test
async def test_a_broker_that_starts_or_stops_is_alive_and_not_ready(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        for phase in (Phase.STARTING, Phase.STOPPING):
            door.broker.operations.enter(phase)
            assert (await door.ask("GET", "/health/live")).status == 200
            ready = await door.ask("GET", "/health/ready")
            assert (ready.status, ready.json()) == (503, {"status": phase.value})
