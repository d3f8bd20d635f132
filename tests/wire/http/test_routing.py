"""Routes: found by path and method, the more specific first, each declared once."""

import pytest

from wire.http.messages import Call, Response
from wire.http.routing import Route, Routes, load_routes


async def nothing(call: Call) -> None:
    """Answers nothing."""


def test_parameters_are_taken_from_the_path() -> None:
    route = Route("GET", "/topics/{topic}/delayed/{partition}", nothing, "")
    assert route.match(("topics", "a/b", "delayed", "3")) == {"topic": "a/b", "partition": "3"}
    assert route.match(("topics", "a", "ready", "3")) is None
    assert route.match(("topics", "a")) is None


def test_a_path_without_parameters_goes_first() -> None:
    routes = Routes([Route("GET", "/traces/{id}", nothing, ""), Route("GET", "/traces/search", nothing, "")])
    assert routes.find(("traces", "search"))["GET"][0].path == "/traces/search"
    assert routes.find(("traces", "abc"))["GET"][1] == {"id": "abc"}


def test_a_path_with_parameters_goes_first_if_it_alone_takes_the_body() -> None:
    own = Route("POST", "/topics/events", nothing, "", body=dict)
    others = Route("POST", "/topics/{topic}", nothing, "", body=dict, takes=("application/json", "text/v2"))
    routes = Routes([own, others])
    found = {kind: routes.find(("topics", "events"), kind)["POST"][0] for kind in ("text/v2", "application/json", "")}
    assert found == {"text/v2": others, "application/json": own, "": own}


def test_methods_of_one_path_are_found_together() -> None:
    routes = Routes([Route("GET", "/a", nothing, ""), Route("DELETE", "/a", nothing, "")])
    assert sorted(routes.find(("a",))) == ["DELETE", "GET"]
    assert routes.find(("b",)) == {}


def test_one_route_cannot_be_declared_twice() -> None:
    with pytest.raises(AssertionError, match="GET /a is declared twice"):
        Routes([Route("GET", "/a", nothing, ""), Route("GET", "/a", nothing, "")])


def test_what_a_handler_returns_becomes_the_answer() -> None:
    route = Route("POST", "/a", nothing, "", status=201)
    assert (route.answered({"a": 1}).status, route.answered({"a": 1}).body) == (201, b'{"a":1}')
    assert route.answered(None).body == b""
    own = Response(418)
    assert route.answered(own) is own


def test_only_calls_that_do_something_change() -> None:
    assert [Route(method, "/", nothing, "").changes for method in ("GET", "POST", "PATCH", "DELETE")] == [
        False,
        True,
        True,
        True,
    ]


def test_every_route_of_the_door_says_what_it_is_for() -> None:
    routes = list(load_routes())
    assert {"/health", "/metrics"} <= {route.path for route in routes}
    assert all(route.summary and route.handle.__doc__ for route in routes)
