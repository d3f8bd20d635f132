"""Who may call: Host, token, and what a web page elsewhere cannot send."""

from http import HTTPStatus

import pytest

from wire.http.config import Access
from wire.http.guard import check_changing, check_host, host_name
from wire.http.messages import Request
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


@pytest.mark.parametrize(
    "headers", [{"x_tidegate": "1"}, {"content_type": "application/json"}, {"content_type": "Application/JSON; a=b"}]
)
def test_a_change_can_be_asked_for_by_a_program(headers: dict[str, str]) -> None:
    check_changing(request(**headers))


@pytest.mark.parametrize("headers", [{}, {"content_type": "text/plain"}, {"x_tidegate": "0"}])
def test_a_change_cannot_be_asked_for_by_a_form(headers: dict[str, str]) -> None:
    with pytest.raises(Problem, match="X-Tidegate: 1") as caught:
        check_changing(request(**headers))
    assert caught.value.status is HTTPStatus.FORBIDDEN
