"""Topics over HTTP: listed, looked at, made and deleted."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from engine.ids import id_text
from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import batch, create_topic, produced

CHANGE = {"x-tidegate": "1"}


@trio_test
async def test_topics_are_listed_by_name_in_pages(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        for name in ("c", "a", "b"):
            made = await create_topic(client, name, 2)
        await produced(client, "b", batch())
        page = await door.get("/topics?limit=1&skip=1")
        assert {key: page[key] for key in ("total", "limit", "skip")} == {"total": 3, "limit": 1, "skip": 1}
        (item,) = page["items"]
        assert item == {
            "name": "b",
            "topic_id": id_text(made.topic_id),
            "internal": False,
            "partitions": 2,
            "size_bytes": len(batch()),
            "end_offsets": 1,
        }


@trio_test
async def test_the_list_can_be_narrowed(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        for name in ("orders-1", "orders-2", "bills", "__consumer_offsets"):
            await create_topic(client, name)

        async def names(query: str) -> list[str]:
            return [item["name"] for item in (await door.get(f"/topics?{query}"))["items"]]

        assert await names("prefix=orders") == ["orders-1", "orders-2"]
        assert await names("internal=false") == ["bills", "orders-1", "orders-2"]


@trio_test
async def test_a_topic_is_shown_with_its_settings_and_partitions(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t", 3, configs={"retention.ms": "1000"})
        await produced(client, "t", batch(4), partition=1)
        topic = await door.get("/topics/t?limit=2")
        configs = {each["name"]: each for each in topic["configs"]}
        assert configs["retention.ms"] == {"name": "retention.ms", "value": "1000", "source": "dynamic_topic_config"}
        assert configs["segment.bytes"]["source"] == "default_config"
        partitions = topic["partitions"]
        assert (partitions["total"], [each["partition"] for each in partitions["items"]]) == (3, [0, 1])
        assert partitions["items"][1] == {
            "partition": 1,
            "leader": 1,
            "leader_epoch": 0,
            "replicas": [1],
            "isr": [1],
            "start_offset": 0,
            "end_offset": 4,
            "last_stable_offset": 4,
            "size_bytes": len(batch(4)),
            "offline": False,
        }


@trio_test
async def test_a_topic_is_made_as_asked_for_or_by_default(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"num.partitions": 5}) as door:
        wanted = {"name": "t", "partitions": 2, "configs": {"retention.ms": "1000"}}
        answer = await door.ask("POST", "/topics", body=wanted)
        assert (answer.status, answer.headers["location"]) == (201, "/topics/t")
        assert door.broker.node.topics.by_name["t"].config["retention.ms"] == 1000
        assert (await door.ask("POST", "/topics", body={"name": "u"})).json()["partitions"] == 5


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ({"name": "t"}, 409, "already exists"),
        ({"name": "a b"}, 422, "name"),
        ({}, 422, "name"),
        ({"name": "u", "partitions": 0}, 422, "partitions"),
        ({"name": "u", "partitions": 2**31 - 1}, 403, "partitions"),
        ({"name": "u", "replication_factor": 3}, 422, "eplication"),
        ({"name": "u", "configs": {"retention.ms": "x"}}, 422, "retention.ms"),
        ({"name": "u", "configs": {"colour": "red"}}, 422, "colour"),
        ({"name": "u", "partitons": 3}, 422, "partitons"),
    ],
)
@trio_test
async def test_a_topic_that_cannot_be_is_refused_with_the_reason(
    tmp_path: Path, wanted: dict[str, Any], status: int, said: str
) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        answer = await door.ask("POST", "/topics", body=wanted)
        assert answer.status == status
        assert said in answer.json()["detail"]
        assert set(door.broker.node.topics.by_name) == {"t"}


@trio_test
async def test_a_topic_is_deleted_by_who_says_that_it_means_it(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        assert (await door.ask("DELETE", "/topics/t", {"sec-fetch-site": "cross-site"})).status == 403
        assert "t" in door.broker.node.topics.by_name
        answer = await door.ask("DELETE", "/topics/t", CHANGE)
        assert (answer.status, answer.body) == (204, b"")
        for method, headers in (("GET", {}), ("DELETE", CHANGE)):
            gone = await door.ask(method, "/topics/t", headers)
            assert (gone.status, gone.json()["error"]) == (404, "UnknownTopicOrPartition")


@trio_test
async def test_the_brokers_own_topics_and_forbidden_deletions_are_refused(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"delete.topic.enable": False}) as door:
        client = await door.connect()
        for name, said in (("__consumer_offsets", "broker's own"), ("t", "delete.topic.enable")):
            await create_topic(client, name)
            answer = await door.ask("DELETE", f"/topics/{name}", CHANGE)
            assert (answer.status, said in answer.json()["detail"]) == (403, True)


@trio_test
async def test_what_is_no_name_of_a_topic_is_told(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        assert (await door.ask("GET", "/topics/a%20b")).status == 422
        assert (await door.ask("GET", "/topics/" + "a" * 250)).status == 422
