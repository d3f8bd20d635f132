"""Who calls the operations door, shown in every way that there is."""

import re
from base64 import b64encode
from http import HTTPStatus
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import trio_test

from coordinators.access.callers import ANONYMOUS, Caller, Principal, Proof
from coordinators.access.checking import MOST_OF_AN_ADDRESS, Place
from coordinators.access.failed_logins import FailedLogins
from engine.clock import ManualClock
from engine.timers import Timers
from wire.http.application import Application
from wire.http.callers import MOST_CREDENTIAL_BYTES, Reception, Visitor
from wire.http.config import OPERATOR, Access
from wire.http.life import Life, Phase
from wire.http.messages import Request
from wire.http.problems import Problem
from wire.http.routing import load_routes

HERE = Visitor("::ffff:10.0.0.1")
SHOWN = Visitor("10.0.0.1", Principal("by-certificate"))


def request(said: str | None = None) -> Request:
    return Request("GET", "/", {} if said is None else {"authorization": said})


def basic(name: str, password: str) -> str:
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


async def check_password(name: str, password: str) -> Proof | None:
    is_right = (name, password) in (("alice", "open:sesame"), ("bob", "\u00e9"), ("ANONYMOUS", "me"))
    return Proof(Principal(name)) if is_right else None


async def check_token(token: str, _place: Place) -> Proof | None:
    return Proof(Principal("robot")) if token == "jwt" else None


def reception(**options: Any) -> Reception:
    ways: dict[str, Any] = {"check_password": check_password, "check_token": check_token, **options}
    return Reception(Access("secret"), **ways)


@trio_test
async def test_a_token_may_name_its_owners_tenant() -> None:
    async def check(_token: str, _place: Place) -> Proof:
        return Proof(Principal("robot"), tenant="acme")

    caller = await reception(check_token=check).caller(request("Bearer jwt"), HERE)
    assert (caller.principal, caller.tenant) == (Principal("robot"), "acme")


async def refused(at: Reception, said: str | None, visitor: Visitor = HERE) -> Problem:
    with pytest.raises(Problem) as caught:
        await at.caller(request(said), visitor)
    assert caught.value.status is HTTPStatus.UNAUTHORIZED
    return caught.value


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ("Bearer secret", OPERATOR),
        ("bearer  secret ", OPERATOR),
        ("Bearer jwt", Principal("robot")),
        (basic("alice", "open:sesame"), Principal("alice")),
        (basic("bob", "\u00e9"), Principal("bob")),
    ],
)
@trio_test
async def test_whoever_shows_it_is_let_in(said: str, who: Principal) -> None:
    assert await reception().caller(request(said), HERE) == Caller(who, "10.0.0.1")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Bearer",
        "Bearer secre",
        "Bearer secret2",
        "Bearer \xff",
        "Basic secret",
        "secret",
        "Digest secret",
        "Basic !!!",
        "Basic \xff\xe9",
        "Basic " + b64encode(b"\xff\xfe:x").decode(),
        basic("alice", ""),
        basic("", "open:sesame"),
        basic("alice", "wrong"),
        basic("ANONYMOUS", "me"),
        basic("nobody", "open:sesame"),
        "Basic " + b64encode(b"alice").decode(),
        "Bearer " + "x" * (MOST_CREDENTIAL_BYTES + 1),
    ],
)
@trio_test
async def test_what_is_wrong_is_refused_later_and_alike(said: str) -> None:
    at = reception()
    begun = trio.current_time()
    problem = await refused(at, said)
    assert trio.current_time() - begun >= at.delay_s
    assert at.refused == 1
    assert problem.detail == (await refused(at, "Bearer other")).detail
    assert problem.headers["WWW-Authenticate"] == 'Basic realm="tidegate", charset="UTF-8", Bearer realm="tidegate"'


@trio_test
async def test_the_log_is_told_where_a_wrong_login_came_from_and_nothing_of_what_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    at = reception(failed=FailedLogins(clock, Timers()), door="registry", delay_s=0.0)
    for _ in range(3):
        await refused(at, basic("alice", "hunter2"))
    (line,) = caplog.records
    told = vars(line)
    assert (told["address"], told["listener"], told["mechanism"]) == ("10.0.0.1", "registry", "basic")
    assert "hunter2" not in str(told)


@pytest.mark.parametrize(
    ("headers", "is_told"),
    [
        ({}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"origin": "https://elsewhere.example"}, False),
    ],
)
@trio_test
async def test_no_page_has_a_browser_ask_for_a_password_that_it_then_sends_for_any_page(
    headers: dict[str, str], is_told: bool
) -> None:
    with pytest.raises(Problem) as caught:
        await reception().caller(Request("GET", "/topics", headers), HERE)
    challenges = caught.value.headers["WWW-Authenticate"]
    assert ("Basic" in challenges, "Bearer" in challenges) == (is_told, True)


@trio_test
async def test_whoever_says_nothing_is_refused_wherever_anybody_is_asked() -> None:
    for ways in ({"check_password": None}, {"check_token": None}, {"check_password": None, "check_token": None}):
        await refused(reception(**ways), None)
    await refused(Reception(Access(), check_password=check_password), None)
    await refused(Reception(Access(), check_token=check_token), None)
    await refused(Reception(Access(), certificates=True), None)


@trio_test
@pytest.mark.parametrize("door", ["http", "grpc", "registry"])
async def test_who_is_refused_is_told_the_key_of_that_door(door: str) -> None:
    with pytest.raises(Problem, match=rf"the token of {door}\.token"):
        await reception(door=door, check_token=None).caller(request(None), HERE)


@trio_test
async def test_where_nobody_is_asked_it_does_not_matter_what_is_said() -> None:
    at = Reception(Access())
    for said in (None, "Bearer anything", "Basic !!!"):
        assert await at.caller(request(said), HERE) == Caller(ANONYMOUS, "10.0.0.1")


@trio_test
async def test_a_way_that_is_not_offered_is_none() -> None:
    await refused(Reception(Access("secret")), basic("alice", "open:sesame"))
    await refused(Reception(Access("secret")), "Bearer jwt")
    await refused(Reception(Access(), check_password=check_password), "Bearer secret")


@trio_test
async def test_a_certificate_is_enough_but_does_not_mend_what_is_said_wrongly() -> None:
    at = reception(certificates=True)
    assert (await at.caller(request(), SHOWN)).principal == Principal("by-certificate")
    assert (await at.caller(request("Bearer secret"), SHOWN)).principal == OPERATOR
    await refused(at, "Bearer wrong", SHOWN)


@trio_test
async def test_so_many_at_once_are_checked_and_no_more() -> None:
    release = trio.Event()

    async def slow(name: str, password: str) -> Proof:
        await release.wait()
        return Proof(Principal(name))

    def recall(name: str, password: str) -> Proof | None:
        return Proof(Principal(name)) if name == "bob" else None

    at = reception(check_password=slow, recall=recall)
    let_in: list[Caller] = []

    async def call() -> None:
        let_in.append(await at.caller(request(basic("alice", "x")), HERE))

    async with trio.open_nursery() as nursery:
        for _ in range(MOST_OF_AN_ADDRESS):
            nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Problem) as caught:
            await at.caller(request(basic("alice", "x")), HERE)
        assert caught.value.status is HTTPStatus.SERVICE_UNAVAILABLE
        # Who was here lately is not kept waiting by those who guess.
        assert (await at.caller(request(basic("bob", "x")), HERE)).principal == Principal("bob")
        # Nor are those who guess in the way of tokens, of the issuer or of the door.
        assert (await at.caller(request("Bearer jwt"), HERE)).principal == Principal("robot")
        assert (await at.caller(request("Bearer secret"), HERE)).principal == OPERATOR
        release.set()
    assert len(let_in) == MOST_OF_AN_ADDRESS


@trio_test
async def test_tokens_that_wait_for_their_issuer_are_not_in_the_way_of_others() -> None:
    async def check(token: str, place: Place) -> Proof:
        if token != "jwt":
            with place():
                await trio.sleep_forever()
        return Proof(Principal("robot"))

    at = reception(check_token=check)
    async with trio.open_nursery() as nursery:
        for _ in range(MOST_OF_AN_ADDRESS):
            nursery.start_soon(at.caller, request("Bearer unheard-of"), HERE)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Problem) as caught:
            await at.caller(request("Bearer unheard-of"), HERE)
        assert caught.value.status is HTTPStatus.SERVICE_UNAVAILABLE
        assert (await at.caller(request("Bearer jwt"), HERE)).principal == Principal("robot")
        nursery.cancel_scope.cancel()


def test_only_probes_and_the_files_of_the_console_are_open() -> None:
    found = {route.path for route in load_routes() if not route.needs_token}
    assert found == {"/health/live", "/health/ready", "/healthy", "/ready", "/", "/console/{file}"}


@pytest.mark.parametrize("said", [None, "Bearer wrong", basic("alice", "wrong")])
@trio_test
async def test_every_route_asks_before_it_tells_anything(said: str | None) -> None:
    life = Life(ManualClock(), lambda: "1", (), lambda: 0)
    life.phase = Phase.READY
    served = Application(load_routes(), life, reception(delay_s=0))
    asked = 0
    for route in load_routes():
        if route.needs_token:
            path = re.sub(r"\{\w+\}", "1", route.path)
            for method in (route.method, "HEAD", "BREW"):
                answer = await served.respond(Request(method, path, request(said).headers), HERE)
                assert answer.status == HTTPStatus.UNAUTHORIZED, (method, path)
                asked += 1
    assert asked > 100
    assert (await served.respond(Request("GET", "/no/such/thing", request(said).headers), HERE)).status == 401


@trio_test
async def test_whether_what_was_shown_counts_still_is_asked_of_who_has_checked_it() -> None:
    counts = True

    async def check(name: str, password: str) -> Proof:
        return Proof(Principal(name), lambda: counts)

    found = await reception(check_password=check).caller(request(basic("alice", "x")), HERE)
    assert found.counts()
    counts = False
    assert not found.counts()
    assert found == Caller(Principal("alice"), "10.0.0.1"), "it is the same caller"
