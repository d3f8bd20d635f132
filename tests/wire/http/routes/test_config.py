"""The configuration in force over HTTP."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from tidegate.config_keys import BROKER_KEYS

TOKEN = {"authorization": "Bearer hunter-2"}


@trio_test
async def test_every_key_is_told_with_where_it_comes_from(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"num.partitions": 6}) as door:
        page = await door.get("/config")
        keys = {each["name"]: each for each in page["items"]}
        assert list(keys) == sorted(BROKER_KEYS)
        assert page["total"] == len(BROKER_KEYS)
        assert (keys["num.partitions"]["value"], keys["num.partitions"]["source"]) == ("6", "static_broker_config")
        assert keys["log.cleaner.threads"]["source"] == "default_config"


@trio_test
async def test_a_secret_is_not_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "hunter-2"}) as door:
        answer = await door.ask("GET", "/config", TOKEN)
        keys = {each["name"]: each for each in answer.json()["items"]}
        assert keys["http.token"]["value"] is None
        assert keys["http.token"]["sensitive"] is True
        assert b"hunter-2" not in answer.body


@trio_test
async def test_it_can_be_had_in_pages(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        page = await door.get("/config?limit=2&skip=1")
        assert [each["name"] for each in page["items"]] == sorted(BROKER_KEYS)[1:3]
