"""A topic is altered over HTTP."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic


@trio_test
async def test_configs_are_set_and_set_back_and_partitions_added(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        change = {"partitions": 3, "configs": {"retention.ms": "1000"}}
        answer = await door.ask("PATCH", "/topics/t", body=change)
        assert (answer.status, answer.json()) == (200, {"name": "t", "partitions": 3})
        configs = {each["name"]: each for each in (await door.get("/topics/t"))["configs"]}
        assert (configs["retention.ms"]["value"], configs["retention.ms"]["source"]) == ("1000", "dynamic_topic_config")
        await door.ask("PATCH", "/topics/t", body={"configs": {"retention.ms": None}})
        configs = {each["name"]: each for each in (await door.get("/topics/t"))["configs"]}
        assert configs["retention.ms"]["source"] != "dynamic_topic_config"


@pytest.mark.parametrize(
    ("change", "status"),
    [({"partitions": 1}, 422), ({"configs": {"colour": "red"}}, 422), ({"configs": {"retention.ms": "x"}}, 422)],
)
@trio_test
async def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], status: int) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 2)
        assert (await door.ask("PATCH", "/topics/t", body=change)).status == status
        assert (await door.ask("PATCH", "/topics/none", body=change)).status == 404
