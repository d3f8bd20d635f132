"""Users over HTTP: they log in by what they were given, and no longer when they are deleted."""

from base64 import b64encode
from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import HttpDoor, open_http_door
from tests.wire.kafka.guarded import open_guarded

LIGHT = {"iterations": 4096}


def basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}


@trio_test
async def test_a_user_logs_in_by_the_last_password_until_deleted(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "http.token": "operator",
        "http.enabled.mechanisms": "BASIC",
        "connection.failed.authentication.delay.ms": 0,
    }
    async with open_http_door(tmp_path, settings) as door:
        operator = {"authorization": "Bearer operator"}

        async def may_log_in(password: str) -> bool:
            return (await door.ask("GET", "/topics", basic("anna", password))).status == 200

        assert not await may_log_in("one")
        made = await door.ask("PUT", "/users/anna", operator, {"password": "one", **LIGHT})
        assert (made.status, b"one" in made.body) == (200, False)
        assert await may_log_in("one")
        await door.ask("PUT", "/users/anna", operator, {"password": "two", **LIGHT})
        assert [await may_log_in(each) for each in ("one", "two")] == [False, True]
        both = [{"mechanism": f"SCRAM-SHA-{size}", "iterations": 4096} for size in (256, 512)]
        assert (await door.get("/users", operator))["items"] == [{"user": "anna", "mechanisms": both}]
        assert (await door.ask("DELETE", "/users/anna", operator)).status == 204
        assert not await may_log_in("two")
        assert (await door.ask("DELETE", "/users/anna", operator)).status == 404


@trio_test
async def test_rights_are_asked_for_and_nonsense_is_refused(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"http.port": -1}) as guarded:
        door = HttpDoor(guarded.door)
        asked = (("GET", "/users", None), ("PUT", "/users/anna", {"password": "x"}), ("DELETE", "/users/anna", None))
        for method, path, body in asked:
            assert (await door.ask(method, path, body=body)).status == 403, (method, path)
    async with open_http_door(tmp_path / "open") as door:
        for wrong in ({"password": ""}, {"password": "x", "iterations": 1}, {"password": "x", "mechanisms": ["PLAIN"]}):
            assert (await door.ask("PUT", "/users/anna", body=wrong)).status == 422, wrong
