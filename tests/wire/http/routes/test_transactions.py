"""Transactions over HTTP: seen whole or not at all, and safe to ask for again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.door import Answer, HttpDoor
from tests.wire.http.routes.test_members import QUICK
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import create_topic

CHANGE = {"x-tidegate": "1"}


@asynccontextmanager
async def opened(data_dir: Path, **settings: object) -> AsyncIterator[tuple[HttpDoor, Client]]:
    async with open_door(data_dir, {**QUICK, **settings}) as door:
        client = await door.connect()
        await create_topic(client, "t", 2)
        yield HttpDoor(door), client


async def init(http: HttpDoor, **order: Any) -> Any:
    answer = await http.ask("POST", "/producers/init", body={"transactional_id": "tx", **order})
    assert answer.status == 201, answer
    return answer.json()


async def ask(http: HttpDoor, what: str, producer: Any, **more: Any) -> Answer:
    return await http.ask("POST", f"/transactions/{what}", body={"producer": producer["producer"], **more})


async def done(http: HttpDoor, what: str, producer: Any, **more: Any) -> Any:
    answer = await ask(http, what, producer, **more)
    assert answer.status == 200, answer
    return answer.json()


async def seen(http: HttpDoor) -> list[str]:
    """What a member that reads what is committed is given."""
    order = {"topics": ["t"], "reset": "earliest", "auto_commit": False}
    member = (await http.ask("POST", "/groups/reader/members", body=order)).json()
    target = f"/groups/reader/members/{member['member']}"
    found: list[Any] = []
    polled: Any = {"state": ""}
    with trio.fail_after(20):
        while polled["state"] != "reading" or polled["records"]:
            polled = await http.get(target + "/records?wait_ms=300")
            found += polled["records"]
    assert (await http.ask("DELETE", target, CHANGE)).status == 204
    return sorted(each["value"] for each in found)


@trio_test
async def test_what_is_committed_is_seen_and_what_is_aborted_is_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        producer = await init(http)
        begun = await done(http, "begin", producer)
        assert (begun["state"], begun["transaction"]) == ("open", 1)
        written = await done(http, "publish", producer, topic="t", records=[{"value": "a"}, {"value": {"b": 1}}])
        assert [each["error"] for each in written["records"]] == [None, None]
        assert await seen(http) == []
        assert (await done(http, "commit", producer, transaction=1))["state"] == "ready"
        assert (await done(http, "commit", producer, transaction=1))["state"] == "ready"
        await done(http, "begin", producer)
        await done(http, "publish", producer, topic="t", records=[{"value": "aborted", "partition": 1}])
        await done(http, "abort", producer)
        assert await seen(http) == ["a", '{"b":1}']
        page = await http.get("/transactions")
        assert [(each["transactional_id"], each["state"]) for each in page["items"]] == [("tx", "CompleteAbort")]
        counts = (await http.get("/transactions/stats"))["counts"]
        assert (counts["producers"], counts["committed"], counts["aborted"]) == (1, 1, 1)


@trio_test
async def test_a_publish_that_is_repeated_is_written_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        producer = await init(http)
        await done(http, "begin", producer)
        for _ in range(3):
            await done(http, "publish", producer, topic="t", records=[{"value": "once"}], sequence=0)
        await done(http, "commit", producer)
        assert await seen(http) == ["once"]


@trio_test
async def test_a_refused_record_leaves_only_the_abort(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        producer = await init(http)
        await done(http, "begin", producer)
        bad = {"value": "x", "headers": [{"name": "tide-delay", "value": "soon"}]}
        written = await done(http, "publish", producer, topic="t", records=[bad])
        assert (written["state"], written["records"][0]["error"]) == ("must abort", "InvalidRecord")
        refused = await ask(http, "commit", producer)
        assert (refused.status, refused.json()["error"]) == (409, "InvalidTxnState")
        await done(http, "abort", producer)
        await done(http, "begin", producer)
        await done(http, "publish", producer, topic="t", records=[{"value": "good", "key": "k"}])
        await done(http, "commit", producer)
        assert await seen(http) == ["good"]


@trio_test
async def test_a_second_producer_of_the_id_fences_the_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        first = await init(http)
        await done(http, "begin", first)
        await done(http, "publish", first, topic="t", records=[{"value": "lost"}])
        second = await init(http)
        refused = await ask(http, "commit", first)
        assert refused.status == 409
        await done(http, "begin", second)
        await done(http, "add-partition", second, topic="t", partition=1)
        await done(http, "publish", second, topic="t", records=[{"value": "kept", "partition": 1}])
        await done(http, "commit", second)
        assert await seen(http) == ["kept"]


@trio_test
async def test_a_groups_places_are_committed_with_the_records(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        producer = await init(http)
        await done(http, "begin", producer)
        places = [{"topic": "t", "partition": 0, "offset": 5}]
        await done(http, "offsets", producer, group="g", offsets=places)
        await done(http, "commit", producer)
        (place,) = (await http.get("/groups/g"))["offsets"]["items"]
        assert place["committed_offset"] == 5


@trio_test
async def test_who_closes_aborts_and_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (http, _):
        producer = await init(http)
        target = f"/producers/{producer['producer']}"
        assert (await http.ask("POST", target + "/heartbeat", CHANGE)).json()["state"] == "ready"
        await done(http, "begin", producer)
        await done(http, "publish", producer, topic="t", records=[{"value": "never"}])
        assert (await http.ask("POST", target + "/close", CHANGE)).status == 204
        assert (await ask(http, "commit", producer)).status == 404
        assert await seen(http) == []


@trio_test
async def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path, **{"doors.max.producers": 1}) as (http, _):
        producer = await init(http)
        assert (await ask(http, "commit", producer)).status == 409
        await done(http, "begin", producer)
        for record in ({"value": "a", "value_base64": "YQ=="}, {"value_base64": "?"}):
            assert (await ask(http, "publish", producer, topic="t", records=[record])).status == 422
        wrong = await ask(http, "publish", producer, topic="t", records=[{}], partitioner="dice")
        assert (wrong.status, "murmur2" in wrong.json()["detail"]) == (422, True)
        refused = await http.ask("POST", "/producers/init", body={"transactional_id": "other"})
        assert refused.status == 403
