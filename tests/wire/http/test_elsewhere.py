"""Members and producers in a cluster: they work wherever they live, and whichever node their callers ask."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from coordinators.access.callers import Caller, Principal
from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import Answer, HttpDoor
from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import BY_NAME, batch, produce
from tests.wire.kafka.sharing import configure_group
from wire.http.carried import Answered, written_call
from wire.http.messages import Request
from wire.inner.asking import InnerClient

PATIENCE_S = 60.0
SETTINGS: dict[str, object] = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 4}


async def post(http: HttpDoor, target: str, **body: Any) -> Answer:
    with trio.fail_after(PATIENCE_S):
        return await http.ask("POST", target, body=body)


async def made(http: HttpDoor, target: str, **body: Any) -> Any:
    answer = await post(http, target, **body)
    assert answer.status in (200, 201), answer
    return answer.json()


async def polled(http: HttpDoor, target: str, count: int) -> list[Any]:
    records: list[Any] = []
    with trio.fail_after(PATIENCE_S):
        while len(records) < count:
            records += (await http.get(f"{target}/records?wait_ms=1000"))["records"]
    return records


async def written(clients: dict[int, Client], topic: str) -> None:
    """A record into each partition, by its leader."""
    for partition, client in enumerate(clients.values()):
        answer = await client.ask(produce(topic, batch([b"to-%d" % partition]), partition=partition), BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == 0


@trio_test
async def test_what_lives_on_a_node_reads_all_of_them_and_is_found_from_all(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, 2, **SETTINGS) as doors:
        clients = {number: await door.connect() for number, door in doors.items()}
        for topic in ("t", "queue", "out"):
            await create_on(clients[1], topic, (1,), (2,))
        await _members(doors, clients)
        await _share_members(doors, clients)
        await _producers(doors)


@trio_test
async def test_any_node_knows_moves_and_cancels_what_waits_in_a_partition(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, 2, **SETTINGS) as doors:
        await create_on(await doors[1].connect(), "t", (1, 2), (2, 1))
        for leader, other in ((1, 2), (2, 1)):
            partition = leader - 1
            for name in ("early", "never"):
                record = {"key": "k", "value": name, "partition": partition, "delay": 3_600_000, "scheduleId": name}
                await made(doors[leader], "/topics/t/messages", **record)
            page = await doors[other].get(f"/topics/t/delayed?partition={partition}")
            assert sorted(each["id"] for each in page["items"]) == ["early", "never"]
            buckets = (await doors[other].get(f"/topics/t/delayed/histogram?partition={partition}"))["buckets"]
            assert sum(each["records"] for each in buckets) == 2
            target = f"/topics/t/delayed/{partition}"
            assert (await doors[other].ask("DELETE", f"{target}/never", {"x-tidegate": "1"})).status == 204
            moved = await doors[other].ask("PATCH", f"{target}/early", body={"release_now": True})
            assert moved.status == 200
            assert (await doors[other].get(f"{target}/never"))["fate"] == "CANCELLED"
            await _until_fate(doors[other], f"{target}/early", "DELIVERED")
            unknown = await doors[other].ask("GET", f"{target}/nobody")
            assert (unknown.status, unknown.json()["error"]) == (404, "NoSuchRecord")


@trio_test
async def test_any_node_lists_what_waits_in_partitions_that_several_lead(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path, 2, **SETTINGS) as doors:
        await create_on(await doors[1].connect(), "t", (1, 2), (2, 1))
        for number in range(6):
            record = {"key": "k", "value": "v", "partition": number % 2, "scheduleId": f"id-{number}"}
            await made(doors[1], "/topics/t/messages", **record, delay=3_600_000 + number * 1000)
        for door in doors.values():
            assert await _paged(door, "due") == [f"id-{number}" for number in range(6)]
            assert await _paged(door, "number") == ["id-0", "id-2", "id-4", "id-1", "id-3", "id-5"]
            assert sum(each["records"] for each in (await door.get("/topics/t/delayed/histogram"))["buckets"]) == 6
            fates = await door.get("/topics/t/delayed/fates?id=id-5")
            assert [(each["partition"], each["fate"]) for each in fates["items"]] == [(1, "PENDING")]
            too_far = await door.ask("GET", "/topics/t/delayed?skip=999&limit=2")
            assert (too_far.status, too_far.json()["error"]) == (422, "InvalidRequest")
            assert (await door.ask("GET", "/topics/nowhere/delayed")).status == 404


async def _paged(door: HttpDoor, order: str) -> list[str]:
    """The ids on pages of four."""
    found: list[str] = []
    skip: int | None = 0
    while skip is not None:
        page = await door.get(f"/topics/t/delayed?order={order}&limit=4&skip={skip}")
        assert page["total"] == 6
        found += [each["id"] for each in page["items"]]
        skip = page["next_skip"]
    return found


async def _until_fate(door: HttpDoor, target: str, fate: str) -> None:
    with trio.fail_after(PATIENCE_S):
        while (await door.get(target))["fate"] != fate:  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.02)


async def _members(doors: dict[int, HttpDoor], clients: dict[int, Client]) -> None:
    await written(clients, "t")
    for home, other in ((1, 2), (2, 1)):
        group = f"g{home}"
        member = await made(doors[home], f"/groups/{group}/members", topics=["t"], reset="earliest")
        assert member["node_id"] == home
        target = f"/groups/{group}/members/{member['member']}"
        found = await polled(doors[home], target, 2)
        assert sorted(each["value"] for each in found) == ["to-0", "to-1"]
        assert (await doors[other].get(target))["state"] == "reading"
        assert (await doors[other].get(f"{target}/records?wait_ms=5"))["records"] == []
        committed = await made(doors[other], f"{target}/commit")
        assert committed["generation"] == (await doors[home].get(target))["generation"]
        await _is_nobodys_else(doors[other], home, target)
        assert (await doors[other].ask("DELETE", target, {"x-tidegate": "1"})).status == 204
        gone = await doors[other].ask("GET", target)
        assert (gone.status, gone.json()["error"]) == (404, "NotAtHome")


async def _is_nobodys_else(door: HttpDoor, home: int, target: str) -> None:
    """Somebody else learns of no member there is, by whichever node."""
    carrying = door.broker.node.services[InnerClient].carrying
    stranger = Caller(Principal("eve"), "127.0.0.1")
    answer = Answered(await carrying.call(home, stranger, "http", written_call(Request("GET", target)), PATIENCE_S))
    assert answer.status == 404


async def _share_members(doors: dict[int, HttpDoor], clients: dict[int, Client]) -> None:
    await configure_group(clients[1], "work", share_auto_offset_reset="earliest")
    await written(clients, "queue")
    member = await made(doors[2], "/share-groups/work/members", topics=["queue"])
    target = f"/share-groups/work/members/{member['member']}"
    receipts = [each["receipt"] for each in await polled(doors[2], target, 2)]
    assert await made(doors[1], "/messages/ack", receipts=receipts) == {"settled": 2, "refused": []}
    unknown = [f"queue:0:0:1:1-{'0' * 24}.{'0' * 12}", f"queue:0:0:1:2-{'0' * 24}.{'0' * 12}"]
    mixed = await post(doors[1], "/messages/nack", receipts=unknown)
    assert (mixed.status, mixed.json()["error"]) == (409, "Elsewhere")


async def _producers(doors: dict[int, HttpDoor]) -> None:
    reader = await made(doors[1], "/groups/out-readers/members", topics=["out"], reset="earliest")
    for home in doors:
        producer = (await made(doors[home], "/producers/init", transactional_id=f"tx-{home}"))["producer"]
        for committed in (True, False):
            await made(doors[3 - home], "/transactions/begin", producer=producer)
            for partition in (0, 1):
                record = {"value": f"{home}-{partition}-{committed}", "partition": partition}
                done = await made(
                    doors[home], "/transactions/publish", producer=producer, topic="out", records=[record]
                )
                assert done["records"][0]["error"] is None, done
            await made(doors[home], "/transactions/" + ("commit" if committed else "abort"), producer=producer)
    found = await polled(doors[1], f"/groups/out-readers/members/{reader['member']}", 4)
    assert sorted(each["value"] for each in found) == ["1-0-True", "1-1-True", "2-0-True", "2-1-True"]
    listed = {each["transactional_id"] for each in (await doors[1].get("/transactions"))["items"]}
    assert listed == {"tx-1", "tx-2"}
