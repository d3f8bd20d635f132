"""A group is moved over HTTP: where it would go, where it goes, and when it does not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor
from tests.wire.kafka.groups import GroupDoor, group_door
from tests.wire.kafka.requests import batch, produced


@asynccontextmanager
async def at_three_of_five(tmp_path: Path) -> AsyncIterator[tuple[GroupDoor, HttpDoor]]:
    """Group g has read three records of five in partition 0 of t, which has two."""
    async with group_door(tmp_path, **{"http.port": -1}) as door:
        await produced(door.client, "t", batch(5))
        await door.commit(3)
        yield door, HttpDoor(door.door)


async def moved(http: HttpDoor, **body: Any) -> dict[tuple[int, int | None], int]:
    """By partition and what was committed, what is to be."""
    answer = await http.ask("POST", "/groups/g/offsets", body=body)
    assert answer.status == 200, answer.body
    return {(each["partition"], each["committed_offset"]): each["new_offset"] for each in answer.json()["moves"]}


@trio_test
async def test_it_is_told_where_a_group_would_go_and_nothing_is_moved(tmp_path: Path) -> None:
    ways = {"earliest": 0, "latest": 5, "2": 2, "99": 5, "-2": 1, "-9": 0, "+1": 4, "@0": 0, f"@{2**50}": 5}
    async with at_three_of_five(tmp_path) as (_, http):
        assert {to: await moved(http, to=to, dry_run=True) for to in ways} == {
            to: {(0, 3): offset} for to, offset in ways.items()
        }
        assert (await http.get("/groups/g"))["offsets"]["items"][0]["committed_offset"] == 3


@trio_test
async def test_a_group_goes_there_in_the_topics_and_partitions_that_are_said(tmp_path: Path) -> None:
    async with at_three_of_five(tmp_path) as (_, http):
        assert await moved(http, to="-1") == {(0, 3): 2}
        assert await moved(http, to="latest", topics=["t"]) == {(0, 2): 5, (1, None): 0}
        assert await moved(http, to="earliest", topics=["t"], partitions=[1]) == {(1, 0): 0}
        places = (await http.get("/groups/g"))["offsets"]["items"]
        assert [each["committed_offset"] for each in places] == [5, 0]


@trio_test
async def test_a_group_with_members_stays_and_is_told_why(tmp_path: Path) -> None:
    async with at_three_of_five(tmp_path) as (door, http):
        await (await door.member()).settle()
        for dry_run in (True, False):
            answer = await http.ask("POST", "/groups/g/offsets", body={"to": "earliest", "dry_run": dry_run})
            assert (answer.status, "stop its members first" in answer.json()["detail"]) == (409, True)


@trio_test
async def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    async with at_three_of_five(tmp_path) as (_, http):
        for group, body, status in (
            ("nobody", {"to": "earliest"}, 404),
            ("g", {"to": "earliest", "topics": ["gone"]}, 404),
            ("g", {"to": "earliest", "partitions": [7]}, 404),
            ("g", {"to": "somewhere"}, 422),
            ("g", {"to": "@noon"}, 422),
            ("g", {"to": "٣"}, 422),
        ):
            answer = await http.ask("POST", f"/groups/{group}/offsets", body=body)
            assert answer.status == status, (body, answer.body)
