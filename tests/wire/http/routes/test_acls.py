"""Rules over HTTP: made, found and removed with the caller's own rights, and what decides a question."""

from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.guarded import Guarded, allow, open_guarded

ANNA = {"principal": "User:anna", "operation": "read", "resource": "topic", "name": "orders", "pattern": "prefixed"}
WHOLE = {**ANNA, "host": "*", "permission": "allow"}
QUERY = "principal=User:anna&operation=read&resource=topic&name=orders&pattern=prefixed"
WHY = "/acls/why?principal=User:anna&operation=describe&resource=topic&name="
ASKED: dict[str, object] = {"authorizer.enable": "true", "super.users": "User:ANONYMOUS", "http.port": -1}


async def listed(door: HttpDoor, query: str = "") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await door.get(f"/acls{query}"))["items"]
    return items


@trio_test
async def test_a_rule_is_made_found_and_removed(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, ASKED) as door:
        made = await door.ask("POST", "/acls", body={"items": [ANNA]})
        assert (made.status, made.json()) == (201, {"items": [WHOLE]})
        assert await listed(door) == [WHOLE]
        assert await listed(door, "?resource=topic&name=orders-2026") == [WHOLE]
        assert await listed(door, "?resource=topic&name=bills") == []
        assert await listed(door, "?permission=deny") == []
        # Another one, however like it is, stays.
        assert (await door.ask("DELETE", f"/acls?{QUERY.replace('prefixed', 'literal')}")).status == 404
        assert (await door.ask("DELETE", f"/acls?{QUERY}")).status == 204
        assert await listed(door) == []


@trio_test
async def test_it_is_told_what_decides(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, ASKED) as door:
        await door.ask("POST", "/acls", body={"items": [ANNA]})
        told = await door.get(f"{WHY}orders-7")
        assert (told["allowed"], told["rule"]) == (True, WHOLE)
        assert (await door.get(f"{WHY}bills")) | {"reason": ""} == {"allowed": False, "rule": None, "reason": ""}
        denial = {**ANNA, "permission": "deny", "operation": "all", "pattern": "literal", "name": "orders-7"}
        await door.ask("POST", "/acls", body={"items": [denial]})
        assert (await door.get(f"{WHY}orders-7"))["rule"]["permission"] == "deny"


@trio_test
async def test_what_is_no_rule_is_refused(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, ASKED) as door:
        for wrong in ({"operation": "fly"}, {"principal": "anna"}, {"resource": "cluster"}, {"permission": "maybe"}):
            answer = await door.ask("POST", "/acls", body={"items": [{**ANNA, **wrong}]})
            assert answer.status == 422, (wrong, answer.body)
        assert await listed(door) == []
    async with open_http_door(tmp_path / "open") as door:
        for method, path in (("GET", "/acls"), ("GET", f"{WHY}orders")):
            answer = await door.ask(method, path)
            assert (answer.status, answer.json()["error"]) == (409, "SecurityDisabled")


def door_of(guarded: Guarded) -> HttpDoor:
    return HttpDoor(guarded.door)


@trio_test
async def test_rights_are_asked_for_as_of_a_kafka_client(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        door = door_of(guarded)
        asked = (("GET", "/acls", None), ("POST", "/acls", {"items": [ANNA]}), ("DELETE", f"/acls?{QUERY}", None))
        for method, path, body in (*asked, ("GET", f"{WHY}orders", None)):
            answer = await door.ask(method, path, body=body)
            assert (answer.status, answer.json()["error"]) == (403, "ClusterAuthorizationFailed"), (method, path)
        guarded.rule(allow("ANONYMOUS", 8, 4, "kafka-cluster"))
        assert (await door.ask("GET", "/acls")).status == 200
        assert (await door.ask("POST", "/acls", body={"items": [ANNA]})).status == 403
        guarded.rule(allow("ANONYMOUS", 7, 4, "kafka-cluster"))
        assert (await door.ask("POST", "/acls", body={"items": [ANNA]})).status == 201
