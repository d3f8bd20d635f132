"""Tenants over HTTP."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import trio_test

from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import HttpDoor
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.tenancy.tenants import ACME, ZULU, open_tenants

CHANGING = {"x-tidegate": "1"}


async def said(http: HttpDoor, method: str, target: str, status: int, body: dict[str, Any] | None = None) -> Any:
    """What the door answers, which must have this status."""
    answer = await http.ask(method, target, CHANGING, body)
    assert answer.status == status, answer
    return answer.json() if answer.body else None


@trio_test
async def test_a_tenant_from_its_making_to_its_end(tmp_path: Path) -> None:
    async with open_tenants(tmp_path, {"http.port": -1}) as tenants:
        http, acme = HttpDoor(tenants.door), await tenants.connect(ACME)
        made = await said(http, "POST", "/tenants", 201, {"name": "third", "limits": {"topics": 3}})
        assert made["principals"] == ["User:third.*"]
        assert (made["limits"]["topics"], made["limits"]["partitions"]) == (3, None)
        assert [each["name"] for each in (await http.get("/tenants"))["items"]] == ["acme", "third", "zulu"]
        changed = await said(http, "PATCH", "/tenants/third", 200, {"limits": {"topics": None, "partitions": 7}})
        assert (changed["limits"]["topics"], changed["limits"]["partitions"]) == (None, 7)
        await said(http, "DELETE", "/tenants/third", 204)
        assert (await said(http, "GET", "/tenants/third", 404))["error"] == "UnknownTenant"
        await create_topic(acme, "orders", 2)
        sent = batch(5)
        await produced(acme, "orders", sent)
        usage = (await http.get("/tenants/acme"))["usage"]
        assert (usage["topics"], usage["partitions"], usage["connections"], usage["requests"]) == (1, 2, 1, 2)
        assert usage["produced_bytes"] == usage["storage_bytes"] == len(sent)
        assert usage["producer_byte_rate"] is None
        assert (await said(http, "DELETE", "/tenants/acme", 409))["error"] == "TenantHasTopics"
        await said(http, "DELETE", "/tenants/acme?force=true", 204)
        assert [each["name"] for each in (await http.get("/tenants"))["items"]] == ["zulu"]


@trio_test
async def test_what_cannot_be_is_refused_with_why(tmp_path: Path) -> None:
    async with open_tenants(tmp_path, {"http.port": -1}) as tenants:
        http = HttpDoor(tenants.door)
        for body, status, part in (
            ({"name": "acme"}, 409, "already"),
            ({"name": "a.b"}, 422, "cannot be called"),
            ({"name": "x", "limits": {"apples": 1}}, 422, "no limit is called 'apples'"),
            ({"name": "x", "principals": ["User:*"]}, 422, "names no principals"),
        ):
            assert part in (await said(http, "POST", "/tenants", status, body))["detail"]


@trio_test
async def test_a_tenant_is_deleted_with_everything_though_it_was_deleted_before(tmp_path: Path) -> None:
    async with open_tenants(tmp_path, {"http.port": -1}) as tenants:
        http, acme, zulu = HttpDoor(tenants.door), await tenants.connect(ACME), await tenants.connect(ZULU)
        await create_topic(acme, "orders", 2)
        await create_topic(zulu, "orders")
        await said(http, "PUT", "/users/acme.ann", 200, {"password": "open sesame"})
        await said(http, "PATCH", "/quotas", 204, {"user": "acme.ann", "values": {"producer_byte_rate": 1000}})
        await said(http, "DELETE", "/tenants/acme?force=true", 204)
        left = await http.get("/tenants/acme/belongings")
        assert left == {
            "topics": 1,
            "rules": 0,
            "quotas": 1,
            "subjects": 0,
            "configured_groups": 0,
            "users": ["acme.ann"],
        }
        await said(http, "DELETE", "/tenants/acme", 404)
        await said(http, "DELETE", "/tenants/acme?everything=true", 204)
        assert [each["name"] for each in (await http.get("/topics"))["items"]] == ["zulu.orders"]
        left = await http.get("/tenants/acme/belongings")
        assert (left["topics"], left["quotas"], left["users"]) == (0, 0, [])
        await said(http, "GET", "/tenants/nobody/belongings", 404)


@trio_test
async def test_topics_that_may_not_be_deleted_keep_their_tenant(tmp_path: Path) -> None:
    async with open_tenants(tmp_path, {"http.port": -1, "delete.topic.enable": False}) as tenants:
        http, acme = HttpDoor(tenants.door), await tenants.connect(ACME)
        await create_topic(acme, "orders")
        await said(http, "DELETE", "/tenants/acme?everything=true", 403)
        assert (await http.get("/tenants/acme"))["usage"]["topics"] == 1


@trio_test
async def test_what_is_committed_in_a_tenants_groups_goes_with_its_topics(tmp_path: Path) -> None:
    async with open_tenants(tmp_path, {"http.port": -1}) as tenants:
        http, acme = HttpDoor(tenants.door), await tenants.connect(ACME)
        await create_topic(acme, "orders")
        target = "/consumer-groups/offsets/commit?group=acme.readers"
        await said(http, "POST", target, 200, {"topic": "acme.orders", "partition": 0, "offset": 0})
        assert (await http.get("/groups/acme.readers"))["offsets"]["total"] == 1
        await said(http, "DELETE", "/tenants/acme?everything=true", 204)
        assert (await http.get("/groups/acme.readers"))["offsets"]["total"] == 0


@trio_test
async def test_what_a_tenant_uses_is_told_of_all_nodes_together(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path) as doors:
        await said(doors[1], "POST", "/tenants", 201, {"name": "acme", "limits": {"producer_byte_rate": 10**9}})
        await create_on(await doors[1].connect(), "acme.orders", (1,), (2,))
        sent = batch(5)
        for number, door in doors.items():
            topics = door.broker.node.topics
            await until(lambda topics=topics: "acme.orders" in topics.by_name and topics.tenants.get("acme"))
            assert (await produced(await door.connect(), "acme.orders", sent, partition=number - 1)).error_code == 0
        for door in doors.values():
            told = await cluster_use(door, "/tenants/acme?cluster=true", 2 * len(sent))
            assert told["usage"]["storage_bytes"] == len(sent)
            assert (told["cluster_usage"]["topics"], told["cluster_usage"]["partitions"]) == (1, 2)
            (listed,) = (await door.get("/tenants?cluster=true"))["items"]
            assert listed["cluster_usage"]["storage_bytes"] == 2 * len(sent)
            assert listed["missing_nodes"] == []


async def cluster_use(door: HttpDoor, target: str, stored: int) -> Any:
    """What is told once so much is stored: it is added up every second."""
    with trio.fail_after(20):
        while (told := await door.get(target))["cluster_usage"]["storage_bytes"] != stored:  # noqa: ASYNC110
            await trio.sleep(0.1)
    return told
