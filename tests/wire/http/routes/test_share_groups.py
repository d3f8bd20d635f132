"""Share groups over HTTP: who works on what, what is in hand, and taking it back."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from trio.testing import trio_test

from coordinators.cluster.nodes import Nodes
from coordinators.metrics.shares import ShareMetrics
from coordinators.share.sharing import Sharing
from tests.engine.stage.world import client_batch, record
from tests.wire.http.door import HttpDoor
from tests.wire.http.scraping import collected
from tests.wire.kafka.apis.test_share_fetch import shared_topic
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sharing import ACCEPT, REJECT, RELEASE, ShareMember, configure_group
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

CHANGE = {"x-tidegate": "1"}


@asynccontextmanager
async def working(data_dir: Path) -> AsyncIterator[tuple[HttpDoor, Client, ShareMember]]:
    """A member `m1` of the group `g` that has the first three of five records of the topic `t` in hand."""
    async with open_door(data_dir, {"http.port": -1}) as door:
        client = await door.connect()
        made = await create_topic(client, "t", 1)
        await configure_group(client, share_auto_offset_reset="earliest", share_retry_backoff_ms=60_000)
        await client.ask(FindCoordinatorRequest(key="g", coordinator_keys=["g"]))
        beat = ShareGroupHeartbeatRequest("g", "m1", 0, subscribed_topic_names=["t"])
        assert (await client.ask(beat)).error_code == 0
        for count in (3, 2):
            await produced(client, "t", batch(count))
        member = ShareMember(await door.connect(), made.topic_id)
        assert await member.take(max_records=3) == [(0, 2, 1)]
        yield HttpDoor(door), client, member


@trio_test
async def test_a_group_is_listed_and_shown_with_its_window(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, member):
        await member.acknowledge([(0, 0, [ACCEPT]), (1, 1, [RELEASE])])
        page = await http.get("/share-groups")
        assert page["items"] == [{"group": "g", "state": "Stable", "in_hand": 1}]
        assert (await http.get("/share-groups?state=empty"))["total"] == 0
        shown = await http.get("/share-groups/g")
        assert (shown["state"], shown["assignor"], shown["lag"]) == ("Stable", "simple", 4)
        (only,) = shown["members"]["items"]
        assert (only["member_id"], only["assignment"]) == ("m1", [{"topic": "t", "partitions": [0]}])
        assert shown["offsets"]["items"] == [
            {
                "topic": "t",
                "partition": 0,
                "start_offset": 1,
                "lag": 4,
                "window": 2,
                "in_hand": 1,
                "in_hand_lanes": {"normal": 1},
                "backed_off": 1,
            }
        ]


@trio_test
async def test_what_is_in_hand_is_listed_and_taken_back(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, member):
        (held,) = (await http.get("/share-groups/g/in-flight"))["items"]
        assert (held["topic"], held["first_offset"], held["last_offset"]) == ("t", 0, 2)
        assert (held["member_id"], held["delivery_count"]) == ("m1", 1)
        assert 0 < held["lock_ms"] <= 30_000
        nobody = await http.ask("POST", "/share-groups/g/release", CHANGE, {"member": "m2"})
        assert nobody.json() == {"released": 0, "delay_ms": 0}
        done = await http.ask("POST", "/share-groups/g/release", CHANGE, {})
        assert done.json() == {"released": 3, "delay_ms": 0}
        assert (await http.get("/share-groups/g/in-flight"))["total"] == 0
        assert await member.take(max_records=3) == [(0, 2, 2)]


@trio_test
async def test_what_is_in_hand_is_told_by_lane(tmp_path: Path) -> None:
    async with shared_topic(tmp_path, settings={"http.port": -1}) as (door, client, member):
        http = HttpDoor(door)
        given = (
            record("a", priority="low"),
            record("b"),
            record("c", priority="critical"),
            record("d", priority="low"),
        )
        await produced(client, "t", client_batch(given))
        taken = 0
        while taken < 4:
            found = await member.take(max_wait_ms=5_000)
            taken += sum(last - first + 1 for first, last, _ in found)
        assert await lanes_of(http) == {"critical": 1, "normal": 1, "low": 2}
        figures = collected(ShareMetrics(http.broker.node.services[Sharing], 10).collect())
        assert figures("tidegate_share_in_flight_lane", sharegroup="g", lane="low") == 2
        # Lanes are served by their shares: the first one is of the highest.
        assert await member.acknowledge([(0, 0, [ACCEPT])]) == 0
        assert await lanes_of(http) == {"normal": 1, "low": 2}


async def lanes_of(http: HttpDoor) -> Counter[str]:
    """What is in hand by lane."""
    counts: Counter[str] = Counter()
    for held in (await http.get("/share-groups/g/in-flight"))["items"]:
        counts.update(held["lanes"])
    return counts


@trio_test
async def test_whoever_tells_and_does_not_is_named(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, _member):
        for path in ("/share-groups", "/share-groups/g/in-flight"):
            page = await http.get(path)
            assert (page["node_id"], page["other_nodes"]) == (http.broker.node.topics.node_id, [])
        nodes = http.broker.node.services[Nodes]
        nodes.by_id[77] = next(iter(nodes.by_id.values()))
        assert (await http.get("/share-groups"))["other_nodes"] == [77]


@trio_test
async def test_one_record_is_taken_back_and_waits(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, member):
        order = {"member": "m1", "topic": "t", "partition": 0, "first_offset": 1, "delay_ms": 10**9}
        done = await http.ask("POST", "/share-groups/g/release", CHANGE, order)
        assert done.json() == {"released": 1, "delay_ms": 900_000}
        held = (await http.get("/share-groups/g/in-flight"))["items"]
        assert [(each["first_offset"], each["last_offset"]) for each in held] == [(0, 0), (2, 2)]
        assert await member.take(max_records=3) == [(3, 4, 1)]
        for wrong, status in (
            ({"partition": 0}, 422),
            ({"topic": "t", "first_offset": 1}, 422),
            ({"delay_ms": -1}, 422),
        ):
            assert (await http.ask("POST", "/share-groups/g/release", CHANGE, wrong)).status == status


@trio_test
async def test_what_was_done_is_counted(tmp_path: Path) -> None:
    async with working(tmp_path) as (http, _, member):
        await member.acknowledge([(0, 1, [ACCEPT])])
        counts = (await http.get("/reliability/stats"))["counts"]
        assert (counts["acks_accept"], counts["deliveries_1"], counts["acquired"]) == (2, 3, 1)
        assert (counts["dead_letters"], counts["dead_letters_waiting"]) == (0, 0)
        await member.acknowledge([(2, 2, [REJECT])])
        with trio.fail_after(30):
            while (await http.get("/reliability/stats"))["counts"]["dead_letters"] < 1:
                await trio.lowlevel.checkpoint()


@trio_test
async def test_a_group_that_there_is_not_is_not_found(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"http.port": -1}) as door:
        http = HttpDoor(door)
        assert (await http.ask("GET", "/share-groups/nobody")).status == 404
        assert (await http.get("/share-groups"))["items"] == []
        assert (await http.get("/share-groups/nobody/in-flight"))["items"] == []
