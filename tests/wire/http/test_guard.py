"""Who may call: Host, token, and what a web page elsewhere cannot send."""

from http import HTTPStatus

import pytest

from wire.http.config import Access
from wire.http.guard import check_changing, check_host, host_name, is_preflight, preflight, shared
from wire.http.messages import Request, Response
from wire.http.problems import Problem

LOOPBACK = Access(hosts=frozenset({"localhost", "127.0.0.1", "::1"}))


def request(**headers: str) -> Request:
    return Request("GET", "/", {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("host", ["localhost", "LocalHost:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]"])
def test_our_own_names_are_answered_to(host: str) -> None:
    check_host(request(host=host), LOOPBACK)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "[::2]:80"])
def test_another_name_that_points_here_is_not(host: str) -> None:
    with pytest.raises(Problem) as caught:
        check_host(request(host=host), LOOPBACK)
    assert caught.value.status is HTTPStatus.MISDIRECTED_REQUEST
    assert "localhost" in caught.value.detail


def test_behind_a_token_any_name_will_do() -> None:
    check_host(request(host="broker.example"), Access("secret"))


def test_the_name_stands_before_the_port() -> None:
    assert [host_name(text) for text in ("A:1", "[::1]:2", " b ")] == ["a", "::1", "b"]


HERE = "127.0.0.1:8080"
NOBODY_ELSES = Access()
NAMED = Access(origins=frozenset({"https://console.example"}))


@pytest.mark.parametrize(
    "headers", [{}, {"content_type": "text/plain"}, {"x_tidegate": "1"}, {"content_type": "application/json"}]
)
def test_a_program_may_change_what_it_may(headers: dict[str, str]) -> None:
    check_changing(request(host=HERE, **headers), NOBODY_ELSES)


@pytest.mark.parametrize("headers", [{"x_tidegate": "1"}, {"content_type": "Application/JSON; a=b"}])
def test_a_page_of_our_own_may_too(headers: dict[str, str]) -> None:
    check_changing(request(host=HERE, origin=f"http://{HERE}", sec_fetch_site="same-origin", **headers), NOBODY_ELSES)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; b=c"])
@pytest.mark.parametrize("browser", [{"origin": f"http://{HERE}"}, {"sec_fetch_mode": "navigate"}])
def test_what_a_page_can_send_without_asking_changes_nothing(kind: str, browser: dict[str, str]) -> None:
    with pytest.raises(Problem, match="X-Tidegate") as caught:
        check_changing(request(host=HERE, content_type=kind, **browser), NOBODY_ELSES)
    assert caught.value.status is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", f"http://{HERE}.evil.example", "http://127.0.0.1:80"]
)
def test_a_page_of_elsewhere_changes_nothing_whatever_it_sends(origin: str) -> None:
    sent = request(host=HERE, origin=origin, x_tidegate="1", content_type="application/json")
    with pytest.raises(Problem, match=r"http\.cors\.allowed\.origins"):
        check_changing(sent, NOBODY_ELSES)


def test_a_page_that_the_configuration_names_may_call() -> None:
    sent = request(host=HERE, origin="https://console.example", content_type="application/json")
    check_changing(sent, NAMED)
    told = shared(Response(200), sent, NAMED).headers
    assert told["Access-Control-Allow-Origin"] == "https://console.example"
    assert told["Vary"] == "Origin"


def test_others_cannot_read_answers() -> None:
    told = shared(Response(200), request(origin="https://evil.example"), NAMED).headers
    assert "Access-Control-Allow-Origin" not in told
    assert shared(Response(200), request(origin="https://evil.example"), NOBODY_ELSES).headers == {}


def test_a_browser_that_asks_first_is_told() -> None:
    asks = {"access_control_request_method": "PATCH"}
    sent = Request("OPTIONS", "/", request(origin="https://console.example", **asks).headers)
    assert is_preflight(sent)
    granted = preflight(sent, NAMED)
    assert granted.status == 204
    assert "PATCH" in granted.headers["Access-Control-Allow-Methods"]
    denied = preflight(Request("OPTIONS", "/", request(origin="https://evil.example", **asks).headers), NAMED)
    assert "Access-Control-Allow-Methods" not in denied.headers
