"""Probes and the state of health."""

import errno
import os
from pathlib import Path

import pytest
from trio.testing import trio_test

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.files.files import OsFile
from engine.partition.storage import CHECK_S
from tests.wire.http.door import open_http_door
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.http.life import Phase


@trio_test
async def test_a_broker_that_is_up_is_well(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 3)
        health = await door.get("/health")
        assert (health["status"], health["partitions"], health["offline_partitions"]) == ("healthy", 3, 0)
        assert health["uptime_seconds"] >= 0
        assert await door.get("/health/live") == await door.get("/health/ready") == {"status": "ok"}


@trio_test
async def test_uptime_is_what_has_passed_though_the_wall_clock_is_set(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        set_back = ManualClock(
            wall_ms=door.broker.clock.now_ms() - 1_731_000, seconds=door.broker.clock.monotonic() + 5
        )
        door.broker.operations.life.clock = set_back
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


@trio_test
async def test_a_full_disk_is_told_and_gets_well_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        assert (await produced(client, "t", batch())).error_code == 0
        storage = (await door.get("/health"))["storage"]
        assert storage["size_bytes"] > storage["free_bytes"] > 0
        assert (storage["refused"], storage["set_aside_files"], storage["set_aside_bytes"]) == (None, 0, 0)

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as broken:
            broken.setattr(OsFile, "write", full)
            assert (await produced(client, "t", batch())).error_code == 56
        answer = await door.ask("GET", "/health")
        assert (answer.status, answer.json()["status"]) == (503, "degraded")
        assert answer.json()["storage"]["refused"] == "the disk is full: records cannot be written"
        assert "tidegate_disk_full 1" in (await door.ask("GET", "/metrics")).body.decode()
        kept = door.broker.node.partitions.storage
        assert (await produced(client, "t", batch())).error_code == 0
        kept._refused["records"] -= CHECK_S
        kept._check()
        await until(lambda: not kept.is_full)
        assert (await door.get("/health"))["status"] == "healthy"


@trio_test
async def test_what_was_set_aside_is_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        made = await create_topic(client, "t")
        await produced(client, "t", batch())
        partition = door.broker.node.partitions.get(made.topic_id, 0)
        assert partition is not None
        directory = Path(partition.log.directory)
    (directory / "00000000000000000007.log").write_bytes(b"nobody knows what this is")
    async with open_http_door(tmp_path) as door:
        storage = (await door.get("/health"))["storage"]
        assert (storage["set_aside_files"], storage["set_aside_bytes"]) == (1, 25)
        assert "tidegate_recovery_set_aside_bytes 25" in (await door.ask("GET", "/metrics")).body.decode()
