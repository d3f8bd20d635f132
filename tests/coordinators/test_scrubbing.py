"""The scrubber in a broker: it runs beside the rest, keeps its place, and its bugs end nothing."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from engine.files.files import OsFiles
from engine.scrub.progress import ScrubProgress
from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced

AT_ONCE: dict[str, object] = {"log.initial.task.delay.ms": 0, "log.scrub.io.max.bytes.per.second": 2**30}


async def passes(door: HttpDoor, count: int) -> Any:
    """What the door tells once so many passes are done."""
    scrubber = door.broker.scrubbing.scrubber
    await until(lambda: scrubber.progress.passes >= count)
    return await door.get("/scrub")


def damage(data_dir: Path) -> Path:
    """Turn a bit over in the only log that holds a record of a client."""
    (path,) = [each for each in data_dir.glob("topics/*/0/*.log") if b"turn me over" in each.read_bytes()]
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    return path


@trio_test
async def test_damage_is_told_by_the_door_the_metrics_and_after_a_restart(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, AT_ONCE) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch([b"turn me over"]))
        assert (await passes(door, 1))["damages"]["total"] == 0
        assert (await door.get("/health"))["damages"] == 0
        path = damage(tmp_path)
        assert (await door.ask("POST", "/scrub", {"X-Tidegate": "1"})).json() == {"started": True}
        (found,) = (await passes(door, 2))["damages"]["items"]
        assert (found["topic"], found["partition"], found["offset"], found["position"]) == ("t", 0, 0, 0)
        assert found["file"] == str(path)
        health = await door.ask("GET", "/health")
        assert (health.status, health.json()["status"], health.json()["damages"]) == (503, "degraded", 1)
        metrics = (await door.ask("GET", "/metrics")).body.decode()
        assert "\ntidegate_damaged_places 1" in metrics
        assert "\ntidegate_scrub_passes_total 2" in metrics
    async with open_http_door(tmp_path, {"log.scrub.enable": False}) as door:
        assert (await door.ask("GET", "/health")).json()["damages"] == 1
        assert not (await door.get("/scrub"))["running"]
    assert ScrubProgress.read(OsFiles(), str(tmp_path)).passes == 2


@trio_test
async def test_switched_off_it_runs_only_when_asked(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {**AT_ONCE, "log.scrub.enable": False}) as door:
        assert door.broker.scrubbing.scrubber.next_step() is None
        assert door.broker.scrubbing.start_pass()
        await passes(door, 1)


@trio_test
async def test_a_bug_of_it_does_not_end_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("engine.scrub.scrubber.Scrubber._pass", fail)
    async with open_http_door(tmp_path, AT_ONCE) as door:
        await until(lambda: "scrubbing failed" in caplog.text)
        assert (await door.get("/health"))["status"] == "healthy"
        assert not door.broker.scrubbing.scrubber.is_running
