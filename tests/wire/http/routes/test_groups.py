"""Groups over HTTP: who reads, and how far behind."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.group.consumer.protocol import write_assignment
from tests.wire.http.door import HttpDoor
from tests.wire.kafka.apis.test_streams_group_heartbeat import AT_ONCE, counting
from tests.wire.kafka.groups import group_door
from tests.wire.kafka.requests import batch, produced
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from wire.kafka.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

DOOR = {"http.port": -1}
CHANGE = {"x-tidegate": "1"}


@trio_test
async def test_groups_are_listed_with_state_and_lag(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        http = HttpDoor(door.door)
        await produced(door.client, "t", batch(5))
        for group, offset in (("b", 5), ("a", 2)):
            await door.commit(offset, group)
        await (await door.member()).settle()
        page = await http.get("/groups")
        assert (page["total"], page["limit"], page["skip"]) == (3, 100, 0)
        assert page["items"][:2] == [
            {"group": "a", "type": "classic", "state": "Empty", "lag": 3},
            {"group": "b", "type": "classic", "state": "Empty", "lag": 0},
        ]
        assert [each["group"] for each in (await http.get("/groups?state=stable"))["items"]] == ["g"]
        assert [each["group"] for each in (await http.get("/groups?limit=1&skip=1"))["items"]] == ["b"]


@trio_test
async def test_a_group_is_shown_with_its_places(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        http = HttpDoor(door.door)
        await produced(door.client, "t", batch(5))
        await door.commit(2, "a/b c")
        group = await http.get("/groups/a%2Fb%20c")
        assert (group["group"], group["state"], group["lag"]) == ("a/b c", "Empty", 3)
        assert group["offsets"] == {
            "items": [{"topic": "t", "partition": 0, "committed_offset": 2, "end_offset": 5, "lag": 3}],
            "total": 1,
            "limit": 100,
            "skip": 0,
        }


@trio_test
async def test_a_member_is_shown_with_its_partitions(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        http = HttpDoor(door.door)
        member = await door.member()
        await member.join()
        given = [SyncGroupRequestAssignment(member.member_id, write_assignment({"t": {1, 0}}, 0))]
        await member.client.ask(SyncGroupRequest("g", member.generation, member.member_id, assignments=given), 2)
        group = await http.get("/groups/g")
        (shown,) = group["members"]["items"]
        assert (group["type"], group["state"], shown["member_id"]) == ("classic", "Stable", member.member_id)
        assert shown["client_host"].strip("/") == "127.0.0.1"
        assert shown["assignment"] == [{"topic": "t", "partitions": [0, 1]}]


@trio_test
async def test_an_assignment_that_is_none_is_not_shown(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        await (await door.member()).settle()
        (shown,) = (await HttpDoor(door.door).get("/groups/g"))["members"]["items"]
        assert shown["assignment"] is None, "a client may bring any bytes"


@trio_test
async def test_a_member_of_the_new_protocol_is_shown_alike(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        join = ConsumerGroupHeartbeatRequest(
            "new", "a", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        assert (await door.client.ask(join, 1)).error_code == 0
        group = await HttpDoor(door.door).get("/groups/new")
        assert (group["type"], group["protocol"]) == ("consumer", "uniform")
        (shown,) = group["members"]["items"]
        assert shown["assignment"] == [{"topic": "t", "partitions": [0, 1]}]


@trio_test
async def test_an_application_is_shown_with_what_its_tasks_read(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR, **AT_ONCE) as door:
        await counting(door)
        group = await HttpDoor(door.door).get("/groups/g")
        assert (group["type"], group["protocol"], group["state"]) == ("streams", "sticky", "Stable")
        (shown,) = group["members"]["items"]
        assert shown["assignment"] == [{"topic": name, "partitions": [0, 1]} for name in ("t", "words")]


@trio_test
async def test_an_empty_group_is_deleted_and_one_with_members_is_not(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        http = HttpDoor(door.door)
        await door.commit(1, "a")
        await (await door.member()).settle()
        assert (await http.ask("DELETE", "/groups/a", {"origin": "https://elsewhere.example"})).status == 403
        assert (await http.ask("DELETE", "/groups/a", CHANGE)).status == 204
        assert (await http.ask("GET", "/groups/a")).status == 404
        assert (await http.ask("DELETE", "/groups/g", CHANGE)).status == 409


@trio_test
async def test_a_group_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with group_door(tmp_path, **DOOR) as door:
        answer = await HttpDoor(door.door).ask("GET", "/groups/nobody")
        assert (answer.status, answer.json()["detail"]) == (404, "no group is called 'nobody'")
