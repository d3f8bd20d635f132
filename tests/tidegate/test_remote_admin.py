"""The administration over HTTP: what is sent, what is made of answers, what is said when there are none."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tidegate.admin_results import AdminError, Header, Unreachable
from tidegate.remote_admin import RemoteAdmin


class _Door(http.server.BaseHTTPRequestHandler):
    """Notes every request and answers as told."""

    def _answer(self) -> None:
        said: list[tuple[int, bytes]] = self.server.answers  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.asked.append((self.command, self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        status, answer = said.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_DELETE = do_PATCH = do_POST = _answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@contextmanager
def door(*answers: tuple[int, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The address of a door that gives these answers, and what it is asked."""
    with http.server.HTTPServer(("127.0.0.1", 0), _Door) as server:
        server.answers = [  # type: ignore[attr-defined]
            (status, body if isinstance(body, bytes) else json.dumps(body).encode()) for status, body in answers
        ]
        server.asked = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def test_what_members_of_a_share_group_have_is_taken_back() -> None:
    with door((200, {"released": 3, "delay_ms": 0}), (200, {"released": 1, "delay_ms": 60_000})) as (url, asked):
        admin = RemoteAdmin(url)
        assert admin.release_shared("a/b") == 3
        assert admin.release_shared("g", "m", topic="t", partition=0, first_offset=7, delay_ms=60_000) == 1
    assert [(each[0], each[1], json.loads(each[3])) for each in asked] == [
        ("POST", "/share-groups/a%2Fb/release", {}),
        (
            "POST",
            "/share-groups/g/release",
            {"member": "m", "topic": "t", "partition": 0, "first_offset": 7, "delay_ms": 60_000},
        ),
    ]


RECORD = {
    "partition": 2,
    "id": "a",
    "number": 7,
    "state": "waiting",
    "due_ms": 3,
    "created_ms": 1,
    "expires_ms": None,
    "ttl_ms": None,
    "lane": 2,
    "size_bytes": 50,
    "key": None,
    "key_base64": "/w==",
    "headers": [
        {"name": "h", "value": "ü", "value_base64": None},
        {"name": "null", "value": None, "value_base64": None},
    ],
}


def test_records_come_as_bytes_whatever_they_are_sent_as() -> None:
    page = {"items": [RECORD], "total": 5, "limit": 1, "skip": 0, "next_skip": 1}
    with door((200, page)) as (url, asked):
        found = RemoteAdmin(url).list_pending("t", limit=1, due_from_ms=9)
    assert (found.total, found.next_skip) == (5, 1)
    assert (found.records[0].key, found.records[0].number) == (b"\xff", 7)
    assert found.records[0].headers == (Header("h", "ü".encode()), Header("null", None))
    assert asked[0][1] == "/topics/t/delayed?limit=1&skip=0&order=due&due_from_ms=9"


def test_ids_are_quoted_and_changes_marked_as_such() -> None:
    with door((204, b""), (200, {"due_ms": 5})) as (url, asked):
        admin = RemoteAdmin(url + "/behind/a/proxy/", "secret")
        admin.cancel("t", 0, "#1/ü?")
        assert admin.reschedule("t", 0, "x", delay_ms=0) == 5
    (method, target, headers, _), (other, _, json_headers, body) = asked
    assert (method, target) == ("DELETE", "/behind/a/proxy/topics/t/delayed/0/%231%2F%C3%BC%3F")
    assert (headers["X-Tidegate"], headers["Authorization"]) == ("1", "Bearer secret")
    assert (other, json.loads(body), json_headers["Content-Type"]) == ("PATCH", {"delay_ms": 0}, "application/json")
    assert "secret" not in repr(admin)


def test_every_page_of_figures_is_fetched() -> None:
    lanes = {"topic": "t", "ready": [0] * 5, "in_flight": [0] * 5, "starved_turns": [0] * 5, "enqueued": [0] * 5}
    lanes |= {"enqueue_rate": [0.5] * 5, "dequeue_rate": [0.0] * 5, "dequeued": [0] * 5}
    lanes |= {"oldest_age_ms": [None] * 5, "last_served_ms": [None] * 5}
    pages = [{"items": [{**lanes, "partition": number}], "total": 1001} for number in range(2)]
    with door(*((200, page) for page in pages)) as (url, asked):
        found = RemoteAdmin(url).priority_statistics("t")
    assert [each.partition for each in found] == [0, 1]
    assert found[0].enqueue_rate == (0.5,) * 5
    assert [each[1] for each in asked] == [f"/priority/stats?topic=t&limit=1000&skip={skip}" for skip in (0, 1000)]


def test_problems_are_raised_with_what_the_broker_says() -> None:
    problem = {"title": "Unauthorized", "status": 401, "detail": "this needs the header"}
    with door((401, problem)) as (url, _), pytest.raises(AdminError, match="this needs the header"):
        RemoteAdmin(url).count_pending("t")
    with door((503, {"title": "Service Unavailable"})) as (url, _), pytest.raises(AdminError, match="Unavailable"):
        RemoteAdmin(url).count_pending("t")


@pytest.mark.parametrize("answer", [b"<html>", b"[1]", b"\xff"])
def test_what_is_no_operations_door_is_told(answer: bytes) -> None:
    with door((200, answer)) as (url, _), pytest.raises(AdminError, match="no broker's operations door"):
        RemoteAdmin(url).count_pending("t")


def test_nobody_there_is_told() -> None:
    with door() as (url, _):
        pass
    with pytest.raises(Unreachable, match=f"{url} does not answer: .*refused"):
        RemoteAdmin(url).count_pending("t")


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://", "http://host/?a=1", ""])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"must be like http://127\.0\.0\.1:8080"):
        RemoteAdmin(url)
