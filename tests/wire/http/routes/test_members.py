"""Members of groups over HTTP: they read, commit, share with Kafka's own consumers, and are told what is wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.door import HttpDoor
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import BY_NAME, batch, create_topic, produce, produced
from wire.http.routing import load_routes

PATIENCE_S = 20.0
QUICK: dict[str, object] = {"http.port": -1, "group.initial.rebalance.delay.ms": 0}


@asynccontextmanager
async def opened(data_dir: Path, partitions: int = 2, **settings: object) -> AsyncIterator[tuple[HttpDoor, Client]]:
    """A broker with the topic `t`."""
    async with open_door(data_dir, {**QUICK, **settings}) as door:
        client = await door.connect()
        await create_topic(client, "t", partitions)
        yield HttpDoor(door), client


async def joined(http: HttpDoor, **order: Any) -> Any:
    body = {"topics": ["t"], "reset": "earliest", **order}
    answer = await http.ask("POST", "/groups/g/members", body=body)
    assert answer.status == 201, answer
    return answer.json()


async def settled(http: HttpDoor, **order: Any) -> Any:
    """One that reads."""
    member = await joined(http, **order)
    with trio.fail_after(PATIENCE_S):
        while member["state"] != "reading":
            await http.get(path(member) + "/records?wait_ms=100&max_records=1")
            member = await http.get(path(member))
    return member


def path(member: Any) -> str:
    return f"/groups/{member['group']}/members/{member['member']}"


async def polled(http: HttpDoor, member: Any, count: int) -> list[Any]:
    """So many records, however many polls that takes."""
    records: list[Any] = []
    with trio.fail_after(PATIENCE_S):
        while len(records) < count:
            records += (await http.get(path(member) + "/records?wait_ms=1000"))["records"]
    return records


@trio_test
async def test_a_member_joins_and_gets_what_is_there_and_what_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, client):
        member = await settled(http)
        await produced(client, "t", batch([b"one", b"\xff"]))
        assert member["state"] == "reading"
        assert member["assignment"] == [{"topic": "t", "partitions": [0, 1]}]
        assert member["url"].endswith(path(member))
        first, second = await polled(http, member, 2)
        assert (first["topic"], first["partition"], first["offset"], first["value"]) == ("t", 0, 0, "one")
        assert (second["value"], second["value_base64"]) == (None, "/w==")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produced, client, "t", batch([b"later"]))
            assert [each["value"] for each in await polled(http, member, 1)] == ["later"]


@trio_test
async def test_a_poll_waits_no_longer_than_the_broker_lets_anybody_wait(tmp_path: Path) -> None:
    async with opened(tmp_path, **{"http.poll.max.wait.ms": 50}) as (http, _):
        member = await settled(http)
        with trio.fail_after(PATIENCE_S):
            assert (await http.get(path(member) + "/records?wait_ms=30000"))["records"] == []


@trio_test
async def test_what_is_committed_is_not_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, client):
        await produced(client, "t", batch([b"a", b"b"]))
        member = await joined(http, auto_commit=False)
        await polled(http, member, 2)
        generation = (await http.get(path(member)))["generation"]
        order = {"offsets": [{"topic": "t", "partition": 0, "offset": 1}], "generation": generation}
        committed = await http.ask("POST", path(member) + "/commit", body=order)
        assert committed.json() == {"generation": generation}
        assert (await http.ask("DELETE", path(member), {"x-tidegate": "1"})).status == 204
        again = await joined(http, auto_commit=False)
        assert [each["value"] for each in await polled(http, again, 1)] == ["b"]
        assert (await http.get("/groups/g"))["offsets"]["items"][0]["committed_offset"] == 1


@trio_test
async def test_a_commit_of_what_is_not_ones_own_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        member = await settled(http)
        for order in (
            {"offsets": [{"topic": "u", "partition": 0, "offset": 1}]},
            {"offsets": [{"topic": "t", "partition": 0, "offset": 0}], "generation": 99},
        ):
            refused = await http.ask("POST", path(member) + "/commit", body=order)
            assert (refused.status, refused.json()["error"]) == (409, "IllegalGeneration")


@trio_test
async def test_two_members_share_the_partitions_and_one_leaves(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, client):
        first = await settled(http)
        second = await joined(http)
        with trio.fail_after(PATIENCE_S):
            while second["state"] != "reading":
                await http.get(path(first) + "/records?wait_ms=200")
                second = await http.get(path(second))
        parts = [(await http.get(path(each)))["assignment"] for each in (first, second)]
        assert sorted(each[0]["partitions"] for each in parts) == [[0], [1]]
        assert (await http.ask("DELETE", path(second), {"x-tidegate": "1"})).status == 204
        for partition, value in enumerate((b"x", b"y")):
            await client.ask(produce("t", batch([value]), partition=partition), BY_NAME)
        assert sorted(each["value"] for each in await polled(http, first, 2)) == ["x", "y"]


@trio_test
async def test_a_member_goes_back_and_says_that_it_lives(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, client):
        await produced(client, "t", batch([b"a"]))
        member = await joined(http)
        await polled(http, member, 1)
        order = {"offsets": [{"topic": "t", "partition": 0, "offset": 0}]}
        assert (await http.ask("POST", path(member) + "/positions", body=order)).status == 200
        assert [each["value"] for each in await polled(http, member, 1)] == ["a"]
        lives = await http.ask("POST", path(member) + "/heartbeat", {"x-tidegate": "1"})
        assert (lives.status, lives.json()["heartbeat_ms"]) == (200, 3000)


@trio_test
async def test_who_is_no_member_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        member = await joined(http)
        for target in (f"/groups/other/members/{member['member']}", "/groups/g/members/1-" + "0" * 24):
            answer = await http.ask("GET", target + "/records")
            assert (answer.status, answer.json()["error"]) == (404, "NotAtHome")
        bad = await http.ask("POST", "/groups/g/members", body={"topics": []})
        assert bad.status == 422


@trio_test
async def test_there_are_no_more_members_than_the_key_says(tmp_path: Path) -> None:
    async with opened(tmp_path, **{"doors.max.members": 1}) as (http, _):
        await joined(http)
        refused = await http.ask("POST", "/groups/g/members", body={"topics": ["t"]})
        assert refused.status == 403
        assert "doors.max.members" in refused.json()["detail"]


@trio_test
async def test_a_web_page_elsewhere_takes_nothing_away(tmp_path: Path) -> None:
    async with opened(tmp_path, 1) as (http, client):
        await produced(client, "t", batch([b"one"]))
        member = await settled(http, auto_commit=False)
        await http.ask(
            "POST", path(member) + "/positions", body={"offsets": [{"topic": "t", "partition": 0, "offset": 0}]}
        )
        target = path(member) + "/records?wait_ms=1000"
        for page in (
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
            {"origin": "https://elsewhere.example", "x-tidegate": "1"},
        ):
            assert (await http.ask("GET", target, page)).status == 403
        ours = {"sec-fetch-site": "same-origin", "x-tidegate": "1"}
        with trio.fail_after(PATIENCE_S):
            while not (found := (await http.ask("GET", target, ours)).json()["records"]):
                pass
        assert [each["value"] for each in found] == ["one"]


def test_what_takes_something_away_is_known() -> None:
    assert {route.path for route in load_routes() if route.takes_away} == {
        "/groups/{group}/members/{member}/records",
        "/share-groups/{group}/members/{member}/records",
        "/consumers/{group}/instances/{instance}/records",
    }
