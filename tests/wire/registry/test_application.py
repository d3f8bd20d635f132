"""Kinds of content, paths, who calls: what holds for every call of the registry."""

import json

import pytest
from trio.testing import trio_test

from coordinators.access.acls import Operation, PatternType
from coordinators.access.callers import Principal
from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import V1, Door, basic, guarded, rule
from wire.http.callers import Reception, Visitor
from wire.http.config import Access
from wire.http.life import Phase

BODY = {"schema": avro("a")}


@trio_test
@pytest.mark.parametrize(
    ("accept", "given"),
    [
        ("", V1),
        ("*/*", V1),
        ("application/json", "application/json"),
        ("application/vnd.schemaregistry+json", "application/vnd.schemaregistry+json"),
        (f"{V1}; q=0.1, application/json; q=0.9", "application/json"),
        (f"text/html, {V1};q=0.5", V1),
        ("application/*;q=0.2", V1),
    ],
)
async def test_the_answer_is_of_the_kind_that_the_caller_likes_best(door: Door, accept: str, given: str) -> None:
    response = await door.respond("GET", "/subjects", headers={"accept": accept})
    assert (response.status, response.media_type) == (200, given)


@trio_test
async def test_other_kinds_of_content_are_refused(door: Door) -> None:
    for accept in ("text/html", "application/json;q=0", "application/xml;q=x"):
        status, found = await door.ask("GET", "/subjects", accept=accept)
        assert (status, found["error_code"]) == (406, 406), accept
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml"):
        status, found = await door.ask("POST", "/subjects/s/versions", BODY, content_type=kind)
        assert (status, found["error_code"]) == (415, 415), kind
    for kind in (V1, "application/json; charset=utf-8", "application/octet-stream", "Application/JSON"):
        status, _ = await door.ask("POST", "/subjects/s/versions", BODY, content_type=kind)
        assert status == 200, kind


@trio_test
async def test_what_a_web_page_elsewhere_could_send_is_refused(door: Door) -> None:
    from wire.http.messages import Request

    data = json.dumps(BODY).encode()
    plain = await door.application.respond(Request("POST", "/subjects/s/versions", {}, data))
    assert plain.status == 200, "a program need not say that it sends JSON"
    page = await door.application.respond(Request("POST", "/subjects/s/versions", {"origin": "http://x"}, data))
    assert page.status == 415
    door = Door(reception=Reception(Access(None, frozenset({"localhost"}))))
    status, _ = await door.ask("GET", "/subjects", host="evil.example:8081")
    assert status == 421


@trio_test
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 422),
        (b'{"schema":' + b"[" * 100_000, 422),
        (b'{"metadata":' + b'{"a":' * 100_000, 400),
        (b"[]", 422),
        (b'{"schema": 5}', 422),
        (b'{"schema": "{}", "id": 2147483648}', 422),
        (b'{"schema": "{}", "id": 1.5}', 422),
        (b'{"schema": "{}", "version": "1"}', 422),
        (b'{"schema": "{}", "references": {}}', 422),
        (b'{"schema": "\\ud800"}', 400),
    ],
)
async def test_whatever_stands_in_a_body_the_refusal_is_the_callers(door: Door, body: bytes, status: int) -> None:
    found, document = await door.ask("POST", "/subjects/s/versions", body)
    assert (found, document["error_code"]) == (status, status)


@trio_test
async def test_paths_and_methods_that_there_are_not(door: Door) -> None:
    assert await door.code("GET", "/nothing") == 404
    assert await door.code("PATCH", "/subjects/s") == 405
    assert await door.code("GET", "/associations/subjects") == 404
    assert await door.code("GET", "/subjects/%ff/versions") == 400
    assert await door.get("/subjects/") == []
    assert (await door.respond("HEAD", "/subjects")).status == 200
    assert door.application.answered["GET", "/subjects", 200] == 1
    assert door.application.answered["HEAD", "/subjects", 200] == 1


@trio_test
async def test_nothing_is_answered_before_the_broker_is_ready(door: Door) -> None:
    door.life.phase = Phase.STARTING
    response = await door.respond("GET", "/subjects")
    assert (response.status, response.headers) == (503, {"Retry-After": "1"})


@trio_test
async def test_below_the_operations_door_the_same_word_comes_twice() -> None:
    door = Door(mounted=True)
    status, found = await door.ask("POST", "/schemas/subjects/s/versions", BODY)
    assert (status, found["id"]) == (200, 1)
    for path in ("/schemas/ids/1", "/schemas/schemas/ids/1"):
        assert (await door.get(path))["schema"] == avro("a")
    assert await door.get("/schemas/subjects") == ["s"]
    assert len(await door.get("/schemas")) == len(await door.get("/schemas/schemas")) == 1
    assert await door.get("/schemas/") == {}
    assert await door.get("/schemas/contexts/./subjects") == ["s"]
    assert await door.code("GET", "/schemas/nothing") == 404


# -- who calls


@trio_test
async def test_who_does_not_say_who_it_is_is_told_nothing() -> None:
    door = guarded()
    for path in ("/", "/subjects", "/nothing", "/schemas/types"):
        response = await door.respond("GET", path)
        assert (response.status, json.loads(response.body)["error_code"]) == (401, 40101), path
        assert "Basic" in response.headers["WWW-Authenticate"]
    for said in (basic("alice", "wrong"), "Basic", "Basic !", "Bearer x", "Basic Og=="):
        assert (await door.ask("GET", "/", authorization=said))[0] == 401, said
    assert await door.ask("GET", "/", authorization=basic("alice")) == (200, {})
    door.visitor = Visitor("127.0.0.1", Principal("alice"))
    assert await door.get("/") == {}, "a certificate will do"


@trio_test
async def test_rules_say_who_may_do_what_to_which_subjects() -> None:
    door = guarded(
        rule("writer", Operation.WRITE, "orders", PatternType.PREFIXED),
        rule("reader", Operation.READ, "orders-value"),
    )

    async def code(user: str, method: str, path: str, body: object = None) -> int:
        status, found = await door.ask(method, path, body, authorization=basic(user))
        return found["error_code"] if status != 200 else 200

    path = "/subjects/orders-value/versions"
    assert await code("reader", "POST", path, BODY) == 40301
    assert await code("writer", "POST", path, BODY) == 200
    assert await code("writer", "POST", "/subjects/bills-value/versions", BODY) == 40301
    assert await code("admin", "POST", "/subjects/bills-value/versions", {"schema": avro("z")}) == 200
    assert await code("reader", "GET", path) == 200
    assert await code("reader", "GET", "/subjects/bills-value/versions") == 40301
    assert await code("reader", "GET", "/subjects/nothing/versions") == 40301, "whether it exists is not told"
    assert await code("reader", "DELETE", "/subjects/orders-value") == 40301
    assert await code("reader", "PUT", "/config", {"compatibility": "NONE"}) == 40301
    assert await code("reader", "GET", "/schemas/ids/1") == 200
    assert await code("reader", "GET", "/schemas/ids/2") == 40403, "what it may not read is as what there is not"
    assert await door.ask("GET", "/subjects", authorization=basic("reader")) == (200, ["orders-value"])
    assert await door.ask("GET", "/subjects", authorization=basic("nobody")) == (200, [])
    status, found = await door.ask("GET", "/schemas", authorization=basic("reader"))
    assert (status, [each["subject"] for each in found]) == (200, ["orders-value"])


@trio_test
async def test_whoever_may_not_read_a_subject_may_not_refer_to_it() -> None:
    door = guarded(rule("writer", Operation.ALL, "orders", PatternType.PREFIXED), rule("both", Operation.ALL, "*"))
    plain = {"schema": "{}", "schemaType": "JSON"}
    assert (await door.ask("POST", "/subjects/secret/versions", plain, authorization=basic("both")))[0] == 200

    async def refer(user: str, path: str, subject: str) -> int:
        body = {**plain, "references": [{"name": "secret.json", "subject": subject, "version": 1}]}
        status, found = await door.ask("POST", path, body, authorization=basic(user))
        return found["error_code"] if status != 200 else 200

    assert await refer("both", "/subjects/orders-value/versions", "secret") == 200
    for path in (
        "/subjects/orders-value/versions",
        "/subjects/orders-value",
        "/compatibility/subjects/orders-value/versions",
    ):
        assert await refer("writer", path, "secret") == 40301
        assert await refer("writer", path, "nothing") == 40301, "whether it exists is not told"


@trio_test
async def test_what_is_referred_to_without_a_context_is_asked_for_in_that_of_the_subject() -> None:
    door = guarded(
        rule("writer", Operation.ALL, ":.b:orders", PatternType.PREFIXED),
        rule("writer", Operation.READ, "secret"),
        rule("both", Operation.ALL, "*"),
    )
    plain = {"schema": "{}", "schemaType": "JSON"}
    for subject in ("secret", ":.b:secret"):
        assert (await door.ask("POST", f"/subjects/{subject}/versions", plain, authorization=basic("both")))[0] == 200
    status, _ = await door.ask("PUT", "/config/alias", {"alias": ":.b:orders-alias"}, authorization=basic("both"))
    assert status == 200
    body = {**plain, "references": [{"name": "secret.json", "subject": "secret", "version": 1}]}
    paths = ("/subjects/:.b:orders/versions", "/contexts/.b/subjects/orders/versions", "/subjects/alias/versions")
    for path in paths:
        status, found = await door.ask("POST", path, body, authorization=basic("writer"))
        assert (status, found["error_code"]) == (403, 40301), path
        assert (await door.ask("POST", path, body, authorization=basic("both")))[0] == 200
