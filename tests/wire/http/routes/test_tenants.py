"""Tenants over HTTP."""

from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.tenancy.tenants import ACME, open_tenants

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
