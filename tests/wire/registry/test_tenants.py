"""Tenants in the registry: each has one of its own, which it takes for the whole."""

from typing import Any

import pytest
from trio.testing import trio_test

from coordinators.access.callers import Caller, Principal
from coordinators.tenants.rows import TenantRecord
from tests.wire.registry.doors import Door
from wire.http.callers import Reception, Visitor
from wire.http.config import Access
from wire.http.messages import Request

FIRST = {"schema": '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'}
SECOND = {"schema": '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}'}
ACME, ZULU, ROOT = "acme.ann", "zulu.zoe", "root"


class Believing(Reception):
    """Believes who a caller says it is."""

    async def caller(self, request: Request, visitor: Visitor) -> Caller:
        return Caller(Principal(request.headers.get("authorization", ROOT)), visitor.host)


def shared() -> Door:
    """A registry of two tenants and of who belongs to none."""
    door = Door(reception=Believing(Access(), delay_s=0))
    door.tenants.take({name: (TenantRecord(name, (f"User:{name}.*",)), 1) for name in ("acme", "zulu")})
    return door


async def ask(door: Door, who: str, method: str, target: str, body: object = None) -> tuple[int, Any]:
    return await door.ask(method, target, body, authorization=who)


async def got(door: Door, who: str, target: str) -> Any:
    status, found = await ask(door, who, "GET", target)
    assert status == 200, found
    return found


async def registered(door: Door, who: str, subject: str, schema: object) -> int:
    status, made = await ask(door, who, "POST", f"/subjects/{subject}/versions", schema)
    assert status == 200, made
    found: int = made["id"]
    return found


@trio_test
async def test_subjects_and_ids_of_one_name_are_each_tenants_own() -> None:
    door = shared()
    assert await registered(door, ROOT, "orders-value", SECOND) == 1
    assert await registered(door, ROOT, "others-value", FIRST) == 2
    # An id tells nothing of what others have registered, not even where it is the same schema.
    assert await registered(door, ACME, "orders-value", FIRST) == 1
    assert await registered(door, ZULU, "orders-value", SECOND) == 1
    for who, schema in ((ACME, FIRST), (ZULU, SECOND), (ROOT, SECOND)):
        assert (await got(door, who, "/schemas/ids/1"))["schema"] == await text_of(door, who)
        status, looked_up = await ask(door, who, "POST", "/subjects/orders-value", schema)
        assert (status, looked_up["subject"], looked_up["id"]) == (200, "orders-value", 1)
    assert await got(door, ACME, "/subjects") == ["orders-value"]
    assert await got(door, ACME, "/contexts") == ["."]
    assert [each["subject"] for each in await got(door, ZULU, "/schemas")] == ["orders-value"]
    assert await got(door, ACME, "/schemas/ids/1/subjects") == ["orders-value"]
    assert await got(door, ACME, "/schemas/ids/1/versions") == [{"subject": "orders-value", "version": 1}]
    assert (await ask(door, ACME, "GET", "/schemas/ids/2"))[0] == 404
    everything = [":.acme:orders-value", ":.zulu:orders-value", "orders-value", "others-value"]
    assert sorted(await got(door, ROOT, "/subjects")) == everything


async def text_of(door: Door, who: str) -> str:
    """What the latest version of the subject says."""
    shown = await got(door, who, "/subjects/orders-value/versions/latest")
    assert shown["subject"] == "orders-value"
    found: str = shown["schema"]
    return found


@trio_test
async def test_a_guid_is_found_where_it_is_the_tenants() -> None:
    door = shared()
    await registered(door, ROOT, "a", FIRST)
    await registered(door, ROOT, "b", SECOND)
    guid = (await got(door, ROOT, "/subjects/b/versions/1"))["guid"]
    for path in (f"/schemas/guids/{guid}", f"/schemas/guids/{guid}/ids"):
        assert (await ask(door, ACME, "GET", path))[0] == 404
    await registered(door, ACME, "mine", SECOND)
    assert await got(door, ACME, f"/schemas/guids/{guid}/ids") == [{"context": ".", "id": 1}]


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/subjects/:.zulu:orders-value/versions"),
        ("GET", "/subjects/:.zulu:orders-value/versions/1"),
        ("POST", "/subjects/:.zulu:orders-value/versions"),
        ("POST", "/subjects/:.:orders-value/versions"),
        ("DELETE", "/subjects/:.zulu:orders-value"),
        ("GET", "/contexts/.zulu/subjects"),
        ("GET", "/contexts/zulu/subjects/orders-value/versions/1"),
        ("GET", "/subjects?subjectPrefix=:.zulu:"),
        ("GET", "/subjects?subjectPrefix=:*::.zulu:"),
        ("GET", "/schemas?subjectPrefix=:.zulu:"),
        ("GET", "/schemas/ids/1?subject=:.zulu:orders-value"),
        ("GET", "/schemas/ids/1?subject=:.zulu:"),
        ("GET", "/schemas/ids/1/subjects?subject=:.zulu:"),
        ("GET", "/config/:.zulu:"),
        ("PUT", "/config/:.zulu:orders-value"),
        ("PUT", "/contexts/.zulu/config"),
        ("PUT", "/mode/:.zulu:"),
        ("DELETE", "/mode/:.zulu:orders-value"),
        ("POST", "/compatibility/subjects/:.zulu:orders-value/versions/latest"),
        ("GET", "/subjects/:.zulu:orders-value/versions/1/referencedby"),
    ],
)
@trio_test
async def test_no_other_context_can_be_named(method: str, target: str) -> None:
    door = shared()
    await registered(door, ZULU, "orders-value", FIRST)
    bodies: dict[str, object] = {"/config": {"compatibility": "NONE"}, "/mode": {"mode": "READONLY"}}
    body = next((given for part, given in bodies.items() if part in target), FIRST) if method[0] == "P" else None
    status, answer = await ask(door, ACME, method, target, body)
    assert (status, answer["error_code"]) == (422, 42208), answer
    assert await got(door, ZULU, "/subjects") == ["orders-value"]


@trio_test
async def test_nor_by_a_reference() -> None:
    door = shared()
    await registered(door, ZULU, "orders-value", FIRST)
    for name in (":.zulu:orders-value", ":.:orders-value", "orders-value"):
        refers = {"schema": '"Order"', "references": [{"name": "Order", "subject": name, "version": 1}]}
        status, _ = await ask(door, ACME, "POST", "/subjects/mine/versions", refers)
        assert status == 422, name
    assert await got(door, ACME, "/subjects") == []


@trio_test
async def test_nor_by_an_alias() -> None:
    door = shared()
    await registered(door, ZULU, "orders-value", FIRST)
    await registered(door, ACME, "mine", SECOND)
    status, answer = await ask(door, ACME, "PUT", "/config/spy", {"alias": ":.zulu:orders-value"})
    assert (status, answer["error_code"]) == (422, 42208)
    assert (await ask(door, ACME, "PUT", "/config/also", {"alias": "mine"}))[0] == 200
    assert (await got(door, ACME, "/subjects/also/versions/1"))["subject"] == "mine"
    # Not even where the operator has made one.
    assert (await ask(door, ROOT, "PUT", "/config/:.acme:spy", {"alias": ":.zulu:orders-value"}))[0] == 200
    assert (await ask(door, ACME, "GET", "/subjects/spy/versions/1"))[0] == 404


@trio_test
async def test_levels_and_modes_of_all_are_the_tenants_own() -> None:
    door = shared()
    await ask(door, ROOT, "PUT", "/config", {"compatibility": "FULL"})
    assert (await got(door, ACME, "/config"))["compatibilityLevel"] == "FULL"
    assert (await ask(door, ACME, "PUT", "/config", {"compatibility": "NONE"}))[0] == 200
    assert (await ask(door, ACME, "PUT", "/mode", {"mode": "READONLY"}))[0] == 200
    levels = [(await got(door, who, "/config"))["compatibilityLevel"] for who in (ACME, ZULU, ROOT)]
    assert levels == ["NONE", "FULL", "FULL"]
    status, answer = await ask(door, ACME, "POST", "/subjects/a/versions", FIRST)
    assert (status, answer["error_code"]) == (422, 42205)
    assert ".acme" not in answer["message"]
    assert await registered(door, ZULU, "a", FIRST) == 1
    assert (await ask(door, ACME, "GET", "/stats"))[0] == 403


@trio_test
async def test_who_belongs_to_a_tenant_that_is_gone_is_not_let_in() -> None:
    door = shared()
    door.tenants.take({"acme": (TenantRecord("acme", ("User:acme.*",), deleted=True), 2)})
    assert (await ask(door, ACME, "GET", "/subjects"))[0] == 403


@trio_test
async def test_what_is_set_is_told_in_a_tenants_own_names_and_to_nobody_else() -> None:
    door = shared()
    assert await ask(door, ACME, "PUT", "/config/also", {"alias": "mine"}) == (200, {"alias": "mine"})
    assert await got(door, ACME, "/config/also") == {"alias": "mine"}
    assert (await ask(door, ACME, "PUT", "/config", {"compatibility": "FULL"}))[0] == 200
    mine = [{"config": {"compatibilityLevel": "FULL"}}, {"subject": "also", "config": {"alias": "mine"}}]
    assert await got(door, ACME, "/settings") == mine
    assert await got(door, ZULU, "/settings") == []
    whole = [
        {"subject": ":.acme:", "config": {"compatibilityLevel": "FULL"}},
        {"subject": ":.acme:also", "config": {"alias": ":.acme:mine"}},
    ]
    assert await got(door, ROOT, "/settings") == whole
