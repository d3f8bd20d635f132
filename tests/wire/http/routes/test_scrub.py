"""What the operations door tells of damage on disk."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.scrubbing import Scrubbing
from engine.damage import Damage
from tests.wire.http.door import open_http_door


@trio_test
async def test_damages_come_in_pages_by_file(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        for number in (2, 0, 1):
            door.broker.node.partitions.damages.add(Damage(f"/data/{number}.log", 61, "torn", "t", 3, 7, 12))
        found = await door.get("/scrub?limit=2")
        assert [each["file"] for each in found["damages"]["items"]] == ["/data/0.log", "/data/1.log"]
        assert found["damages"]["total"] == 3
        assert found["damages"]["items"][0] == {
            "topic": "t",
            "partition": 3,
            "offset": 7,
            "file": "/data/0.log",
            "position": 61,
            "problem": "torn",
            "found_ms": 12,
        }


@trio_test
async def test_whether_a_pass_was_begun_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_http_door(tmp_path) as door:
        for expected in (True, False):
            monkeypatch.setattr(Scrubbing, "start_pass", lambda _, told=expected: told)
            answer = await door.ask("POST", "/scrub", {"X-Tidegate": "1"})
            assert (answer.status, answer.json()) == (200, {"started": expected})
