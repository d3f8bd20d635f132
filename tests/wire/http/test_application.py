"""From request to answer: found, checked, handled; whatever goes wrong is a problem document."""

import json
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
import pytest
from trio.testing import trio_test

from engine.clock import ManualClock
from engine.errors import UnknownTopicOrPartition
from wire.http.application import Application
from wire.http.callers import Reception
from wire.http.config import Access
from wire.http.life import Life, Phase
from wire.http.messages import Call, Request, Response
from wire.http.problems import Problem
from wire.http.routing import Route, Routes

JSON = {"content-type": "application/json"}


class Place(msgspec.Struct):
    name: str
    number: int


class Query(msgspec.Struct, forbid_unknown_fields=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=10)] = 5


class Body(msgspec.Struct, forbid_unknown_fields=True):
    partitions: int
    more: Any = None


async def echo(call: Call) -> Any:
    return {"place": call.place, "query": call.query, "body": call.body}


async def fail(call: Call) -> Any:
    raise {"bug": ZeroDivisionError(), "broker": UnknownTopicOrPartition("no t"), "own": Problem(HTTPStatus(418), "x")}[
        call.place.name
    ]


ROUTES = Routes(
    [
        Route("GET", "/things/{name}/{number}", echo, "", place=Place, query=Query),
        Route("POST", "/things", echo, "", body=Body),
        Route("DELETE", "/things", echo, ""),
        Route("GET", "/fail/{name}/{number}", fail, "", place=Place),
        Route("GET", "/open", echo, "", needs_token=False, needs_readiness=False),
    ]
)


def application(access: Access | None = None, phase: Phase = Phase.READY) -> Application:
    life = Life(ManualClock(), lambda: "1", (), lambda: 0)
    life.phase = phase
    return Application(ROUTES, life, Reception(access or Access()))


async def ask(
    method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b"", **options: Any
) -> Response:
    return await application(**options).respond(Request(method, target, headers or {}, body))


def problem(response: Response) -> tuple[int, str]:
    assert response.media_type == "application/problem+json"
    document = json.loads(response.body)
    assert document["status"] == response.status
    return response.status, document["detail"]


@trio_test
async def test_path_and_query_are_decoded_and_typed() -> None:
    response = await ask("GET", "/things/a%2Fb%20c/7?limit=3")
    assert json.loads(response.body) == {"place": {"name": "a/b c", "number": 7}, "query": {"limit": 3}, "body": None}


@trio_test
async def test_a_body_is_checked_by_its_type() -> None:
    response = await ask("POST", "/things", JSON, b'{"partitions": 3}')
    assert json.loads(response.body)["body"] == {"partitions": 3, "more": None}


@pytest.mark.parametrize(
    ("method", "target", "status", "said"),
    [
        ("GET", "/nothing", 404, "/openapi.json"),
        ("GET", "/things/", 404, "nothing at"),
        ("GET", "no-path", 400, "must be a path"),
        ("GET", "/things/%ff/1", 400, "UTF-8"),
        ("PATCH", "/things", 405, "DELETE, POST"),
        ("BREW", "/open", 405, "GET, HEAD"),
        ("GET", "/things/a/x", 422, "number"),
        ("GET", "/things/a/1?limit=11", 422, "limit"),
        ("GET", "/things/a/1?limit=1&limit=2", 422, "more than once"),
        ("GET", "/things/a/1?color=red", 422, "color"),
        ("GET", "/things/a/1?limit=%ff", 422, "cannot be read"),
        ("GET", "/things/a/1?" + "a&" * 40, 422, "cannot be read"),
    ],
)
@trio_test
async def test_what_is_wrong_with_a_request_is_told(method: str, target: str, status: int, said: str) -> None:
    told, detail = problem(await ask(method, target))
    assert (told, said in detail) == (status, True), detail


@pytest.mark.parametrize(
    ("headers", "body", "status", "said"),
    [
        (JSON, b"{", 400, "not JSON"),
        (JSON, b"", 400, "not JSON"),
        (JSON, b'{"partitions": 1\xff}', 400, "not JSON"),
        (JSON, b'{"more": ' + b"[" * 100_000, 400, "deeply"),
        (JSON, b'{"partitions": "x"}', 422, "partitions"),
        (JSON, b"{}", 422, "partitions"),
        (JSON, b'{"partitions": 1, "colour": 2}', 422, "colour"),
        ({"content-type": "text/plain", "x-tidegate": "1"}, b"{}", 415, "application/json"),
        ({"content-type": "text/plain", "sec-fetch-site": "same-origin"}, b"{}", 403, "X-Tidegate"),
        ({"sec-fetch-mode": "no-cors"}, b"{}", 403, "X-Tidegate"),
        ({"origin": "https://elsewhere.example"}, b"{}", 403, "http.cors.allowed.origins"),
    ],
)
@trio_test
async def test_what_is_wrong_with_a_body_is_told(headers: dict[str, str], body: bytes, status: int, said: str) -> None:
    told, detail = problem(await ask("POST", "/things", headers, body))
    assert told == status
    assert said in detail


@trio_test
async def test_a_method_that_is_not_there_names_those_that_are() -> None:
    assert (await ask("PUT", "/things")).headers["Allow"] == "DELETE, POST"


@trio_test
async def test_head_is_answered_as_get() -> None:
    assert (await ask("HEAD", "/open")).status == 200


@pytest.mark.parametrize(
    ("name", "status", "said"), [("broker", 404, "no t"), ("own", 418, "x"), ("bug", 500, "a bug")]
)
@trio_test
async def test_what_a_handler_raises_becomes_a_problem(name: str, status: int, said: str) -> None:
    told, detail = problem(await ask("GET", f"/fail/{name}/1"))
    assert told == status
    assert said in detail


@trio_test
async def test_a_bug_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    response = await ask("GET", "/fail/bug/1")
    assert b"ZeroDivisionError" not in response.body
    assert "ZeroDivisionError" in caplog.text


@trio_test
async def test_a_token_is_asked_for_wherever_a_route_does_not_say_otherwise() -> None:
    access = Access("secret")
    for target in ("/things/a/1", "/nothing"):
        assert (await ask("GET", target, access=access)).status == 401
    assert (await ask("GET", "/open", access=access)).status == 200
    assert (await ask("GET", "/things/a/1", {"authorization": "Bearer secret"}, access=access)).status == 200


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.STOPPING])
@trio_test
async def test_before_it_is_ready_only_probes_are_answered(phase: Phase) -> None:
    response = await ask("GET", "/things/a/1", phase=phase)
    assert problem(response) == (503, f"the broker is {phase.value}")
    assert response.headers["Retry-After"] == "1"
    assert (await ask("GET", "/open", phase=phase)).status == 200


@trio_test
async def test_answers_are_counted_by_route_not_by_path() -> None:
    served = application()
    for target in ("/things/a/1", "/things/b/2", "/made-up-1", "/made-up-2"):
        await served.respond(Request("GET", target))
    await served.respond(Request("BREW", "/open"))
    assert dict(served.answered) == {
        ("GET", "/things/{name}/{number}", 200): 2,
        ("GET", "other", 404): 2,
        ("other", "other", 405): 1,
    }
