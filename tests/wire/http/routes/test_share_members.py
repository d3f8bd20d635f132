"""Share groups over HTTP: records with receipts, which settle their own delivery and no other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.door import Answer, HttpDoor
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sharing import configure_group

PATIENCE_S = 20.0
CHANGE = {"x-tidegate": "1"}


@asynccontextmanager
async def working(data_dir: Path, **configs: object) -> AsyncIterator[tuple[HttpDoor, Client, Any]]:
    """A member by HTTP of the group `g`, over the topic `t` of two partitions."""
    async with open_door(data_dir, {"http.port": -1, "group.share.min.record.lock.duration.ms": 1000}) as door:
        http, client = HttpDoor(door), await door.connect()
        await create_topic(client, "t", 1)
        await configure_group(client, share_auto_offset_reset="earliest", **configs)
        yield http, client, await joined(http)


async def joined(http: HttpDoor) -> Any:
    answer = await http.ask("POST", "/share-groups/g/members", body={"topics": ["t"]})
    assert answer.status == 201, answer
    return answer.json()


def path(member: Any) -> str:
    return f"/share-groups/{member['group']}/members/{member['member']}"


async def polled(http: HttpDoor, member: Any, count: int = 1) -> list[Any]:
    records: list[Any] = []
    with trio.fail_after(PATIENCE_S):
        while len(records) < count:
            target = f"{path(member)}/records?wait_ms=1000&max_records={count - len(records)}"
            records += (await http.get(target))["records"]
    return records


async def settle(http: HttpDoor, how: str, *records: Any, **more: Any) -> Answer:
    return await http.ask("POST", f"/messages/{how}", body={"receipts": [each["receipt"] for each in records], **more})


@trio_test
async def test_records_are_given_one_by_one_and_acknowledged(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, client, member):
        await produced(client, "t", batch([b"a", b"b", b"c"]))
        first, second, third = await polled(http, member, 3)
        assert (first["value"], first["delivery_count"], first["lock_ms"]) == ("a", 1, 30_000)
        assert first["receipt"].startswith(f"t:0:0:1:{member['member']}.")
        done = await settle(http, "ack", first, second)
        assert done.json() == {"settled": 2, "refused": []}
        again = await settle(http, "ack", first)
        assert again.json() == {"settled": 1, "refused": []}  # whoever has not heard the answer may ask again
        assert (await settle(http, "nack", first)).status == 409
        assert (await settle(http, "reject", third)).json()["settled"] == 1
        with trio.fail_after(PATIENCE_S):
            while (await http.get("/share-groups/g"))["lag"]:
                await trio.lowlevel.checkpoint()  # the letter is on its way
        counts = (await http.get("/reliability/stats"))["counts"]
        assert (counts["receipts_ack"], counts["receipts_reject"]) == (3, 1)


@trio_test
async def test_what_is_given_back_comes_again_and_the_old_receipt_is_worth_nothing(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, client, member):
        await produced(client, "t", batch([b"a"]))
        (first,) = await polled(http, member)
        assert (await settle(http, "nack", first, delay_ms=0)).status == 200
        (second,) = await polled(http, member)
        assert (second["offset"], second["delivery_count"]) == (0, 2)
        stale = await settle(http, "ack", first)
        assert (stale.status, stale.json()["error"]) == (409, "InvalidRecordState")
        assert (await settle(http, "ack", second)).status == 200


@trio_test
async def test_a_delay_keeps_a_record_from_everybody_for_so_long(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, client, member):
        await produced(client, "t", batch([b"a"]))
        (first,) = await polled(http, member)
        assert (await settle(http, "nack", first, delay_ms=700)).status == 200
        began = trio.current_time()
        assert (await http.get(f"{path(member)}/records"))["records"] == []
        (again,) = await polled(http, member)
        assert again["delivery_count"] == 2
        assert trio.current_time() - began > 0.5


@trio_test
async def test_a_lock_that_ran_out_is_refused_and_one_that_is_renewed_is_not(tmp_path: Path) -> None:
    async with working(tmp_path, share_record_lock_duration_ms=1500) as (http, client, member):
        await produced(client, "t", batch([b"a", b"b"]))
        kept, lost = await polled(http, member, 2)
        deadline = trio.current_time() + 2.5
        while trio.current_time() < deadline:
            await trio.sleep(0.4)
            assert (await settle(http, "visibility", kept)).status == 200
        refused = await settle(http, "ack", lost)
        assert refused.status == 409
        mixed = await settle(http, "ack", kept, lost)
        assert mixed.json()["settled"] == 1
        assert [each["error"] for each in mixed.json()["refused"]] == ["InvalidRecordState"]
        (again,) = await polled(http, member)
        assert (again["offset"], again["delivery_count"]) == (lost["offset"], 2)


@trio_test
async def test_who_leaves_gives_everything_back_at_once(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, client, member):
        await produced(client, "t", batch([b"a"]))
        (first,) = await polled(http, member)
        assert (await http.ask("DELETE", path(member), CHANGE)).status == 204
        (again,) = await polled(http, await joined(http))
        assert again["offset"] == first["offset"]
        stale = await settle(http, "ack", first)
        assert stale.status == 409


@trio_test
async def test_a_record_taken_back_by_an_operator_is_not_settled_by_its_old_receipt(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, client, member):
        await produced(client, "t", batch([b"a"]))
        (first,) = await polled(http, member)
        assert (await http.ask("POST", "/share-groups/g/release", CHANGE, {})).json()["released"] == 1
        assert (await settle(http, "ack", first)).status == 409
        (again,) = await polled(http, member)
        assert again["delivery_count"] == 2


@trio_test
async def test_what_is_no_receipt_is_told(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, member):
        bad = await http.ask("POST", "/messages/ack", body={"receipts": ["nonsense"]})
        assert (bad.status, bad.json()["error"]) == (422, "InvalidRequest")
        elsewhere = await http.ask("POST", "/messages/ack", body={"receipts": [f"t:0:0:1:99-{'0' * 24}.00"]})
        assert elsewhere.status == 404
        lives = await http.ask("POST", f"{path(member)}/heartbeat", CHANGE)
        assert (lives.status, lives.json()["in_hand"]) == (200, 0)
