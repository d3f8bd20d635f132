"""Dead letters sent again over HTTP: once, where they came from, as the ledger says that the command line keeps too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor
from tests.wire.http.routes.test_members import QUICK
from tests.wire.kafka.door import open_door
from tests.wire.kafka.guarded import ROOT, allow, open_guarded
from tests.wire.kafka.requests import create_topic

TOLD = "__dlq.errors."


def letter(number: int, reason: str, **more: str) -> dict[str, Any]:
    said = {"message": reason, "topic": "orders", "partition": "1", "offset": str(number), **more}
    headers = [{"name": TOLD + name, "value": value} for name, value in said.items()]
    return {"key": f"k{number}", "value": f"v{number}", "headers": [{"name": "own", "value": "kept"}, *headers]}


@asynccontextmanager
async def with_letters(tmp_path: Path, *letters: dict[str, Any]) -> AsyncIterator[HttpDoor]:
    async with open_door(tmp_path, {**QUICK}) as door:
        client, http = await door.connect(), HttpDoor(door)
        await create_topic(client, "orders", 2)
        await create_topic(client, "orders.dlq")
        if letters:
            assert (await http.ask("POST", "/topics/orders.dlq/messages", body=list(letters))).status == 200
        yield http


async def redrive(http: HttpDoor, **order: Any) -> Any:
    answer = await http.ask("POST", "/dlq/orders.dlq/redrive", body=order)
    assert answer.status == 200, answer
    return answer.json()


async def orders(http: HttpDoor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await http.get("/topics/orders/messages?offset=earliest"))["messages"]
    return found


@trio_test
async def test_letters_of_a_reason_are_sent_once_to_where_they_came_from(tmp_path: Path) -> None:
    some = [letter(number, "bad" if number % 2 else "late") for number in range(5)]
    async with with_letters(tmp_path, *some) as http:
        plan = await redrive(http, reason="late", dry_run=True)
        assert (plan["sent"], plan["more"], await orders(http)) == (3, False, [])
        assert {(each["offset"], each["to"], each["to_partition"]) for each in plan["letters"]} == {
            (offset, "orders", 1) for offset in (0, 2, 4)
        }
        assert (await redrive(http, reason="late"))["sent"] == 3
        sent = await orders(http)
        assert [(each["partition"], each["value"]) for each in sent] == [(1, "v0"), (1, "v2"), (1, "v4")]
        headers = {each["name"]: each["value"] for each in sent[0]["headers"]}
        assert (headers["own"], headers["__redriven.message"], headers["__redriven.count"]) == ("kept", "late", "1")
        assert not any(name.startswith(TOLD) for name in headers)
        # What was sent is not sent again: not by the same call, not by one that means all.
        assert (await redrive(http, reason="late"))["sent"] == 0
        rest = await redrive(http)
        assert (rest["sent"], len(await orders(http))) == (2, 5)


@trio_test
async def test_one_letter_is_sent_elsewhere_and_calls_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    async with with_letters(tmp_path, *(letter(number, "late") for number in range(4))) as http:
        one = await redrive(http, letters=[{"partition": 0, "offset": 2}], to="orders")
        assert [(each["offset"], each["to"]) for each in one["letters"]] == [(2, "orders")]
        first = await redrive(http, limit=2)
        assert (first["sent"], first["more"], [each["offset"] for each in first["letters"]]) == (2, True, [0, 1])
        last = await redrive(http, limit=2)
        assert (last["more"], [each["offset"] for each in last["letters"]]) == (False, [3])
        assert sorted(each["value"] for each in await orders(http)) == ["v0", "v1", "v2", "v3"]


@trio_test
async def test_what_cannot_be_sent_stays_and_says_why(tmp_path: Path) -> None:
    async with with_letters(tmp_path, letter(0, "late", topic="gone"), letter(1, "late", topic="orders.dlq")) as http:
        told = await redrive(http)
        assert told["sent"] == 0
        lost, own = told["letters"]
        assert ("no topic gone" in lost["left"], "where it lies" in own["left"]) == (True, True)
        assert (await redrive(http, to="orders"))["sent"] == 2
        answer = await http.ask("POST", "/dlq/nothing.dlq/redrive", body={})
        assert answer.status == 404


@trio_test
async def test_rights_are_asked_for(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        root, door = await guarded.client(ROOT), HttpDoor(guarded.door)
        for name in ("orders", "orders.dlq"):
            await create_topic(root, name)

        async def refused(*, dry_run: bool) -> str:
            answer = await door.ask("POST", "/dlq/orders.dlq/redrive", body={"dry_run": dry_run})
            return "" if answer.status == 200 else answer.json()["error"]

        assert await refused(dry_run=True) == "TopicAuthorizationFailed"
        guarded.rule(allow("ANONYMOUS", 3, 2, "orders.dlq", pattern=4))
        assert await refused(dry_run=True) == ""
        assert await refused(dry_run=False) == "TopicAuthorizationFailed"
        guarded.rule(allow("ANONYMOUS", 5, 2, "orders.dlq.settled"))
        assert await refused(dry_run=False) == "TransactionalIdAuthorizationFailed"
