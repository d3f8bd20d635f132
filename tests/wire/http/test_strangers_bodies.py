"""Large bodies are taken of those alone who have shown who they are; the others are answered, and read the answer."""

from base64 import b64encode
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from tests.wire.http.door import Caller, HttpDoor, open_http_door
from tests.wire.http.test_connection import echo
from wire.http.config import HttpLimits
from wire.http.connection import STRANGERS_BYTES, HttpConnection
from wire.http.messages import Request, Response

SIZE = 600_000
RIGHT, WRONG = "Authorization: Bearer secret\r\n", "Authorization: Bearer guess\r\n"
AT_THE_DOOR, AT_THE_REGISTRY, OPEN = "/topics/t/records", "/schemas/subjects/s/versions", "/health/live"


def head(target: str, said: str, framing: str) -> bytes:
    lines = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{said}{framing}\r\n\r\n"
    return lines.encode()


def announced(target: str, said: str = "") -> bytes:
    return head(target, said, f"Content-Length: {SIZE}")


def chunks(size: int) -> bytes:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    return chunk * (size // 0x10000)


def in_chunks(target: str, said: str = "") -> bytes:
    return head(target, said, "Transfer-Encoding: chunked")


async def exchanged(door: HttpDoor, data: bytes) -> bytes:
    async with (await door.caller()).stream as stream:
        return await Caller(stream).exchange(data)


@pytest.mark.parametrize("target", [AT_THE_DOOR, AT_THE_REGISTRY, OPEN, "/nothing"])
@pytest.mark.parametrize("said", ["", WRONG], ids=["nothing said", "wrong"])
@trio_test
async def test_who_is_not_known_is_answered_before_the_body_is_there(tmp_path: Path, target: str, said: str) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        answer = await exchanged(door, announced(target, said))
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert b"connection: close" in answer.lower()
        assert b"www-authenticate" in answer.lower()


@pytest.mark.parametrize("target", [AT_THE_DOOR, AT_THE_REGISTRY])
@trio_test
async def test_nor_is_a_body_in_chunks_waited_for(tmp_path: Path, target: str) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        # Without an end: whoever waits for it has nothing to answer.
        assert (await exchanged(door, in_chunks(target) + chunks(SIZE))).startswith(b"HTTP/1.1 401 ")


@trio_test
async def test_who_sends_all_of_it_at_once_reads_the_answer_all_the_same(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        assert (await exchanged(door, announced(AT_THE_DOOR) + b" " * SIZE)).startswith(b"HTTP/1.1 401 ")


@trio_test
async def test_who_asks_whether_to_go_on_is_told_not_to(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        answer = await exchanged(door, announced(AT_THE_DOOR, "Expect: 100-continue\r\n"))
        assert answer.startswith(b"HTTP/1.1 401 ")


@trio_test
async def test_who_is_known_may_send_as_much_as_before(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        body = b" " * (SIZE - 2) + b"{}"
        for data in (
            announced(AT_THE_DOOR, RIGHT + "Connection: close\r\n") + body,
            in_chunks(AT_THE_DOOR, RIGHT + "Connection: close\r\n") + chunks(SIZE) + b"2\r\n{}\r\n0\r\n\r\n",
        ):
            answer = await exchanged(door, data)
            assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 2")), answer
            assert not answer.startswith((b"HTTP/1.1 401", b"HTTP/1.1 413")), answer


@trio_test
async def test_where_nobody_is_asked_nothing_is_different(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        answer = await exchanged(door, announced("/nothing", "Connection: close\r\n") + b" " * SIZE)
        assert answer.startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize(("size", "asked"), [(STRANGERS_BYTES, 0), (STRANGERS_BYTES + 1, 1)])
@pytest.mark.parametrize("chunked", [False, True])
@trio_test
async def test_who_it_is_is_asked_once_and_of_large_bodies_alone(size: int, asked: int, chunked: bool) -> None:
    times = 0

    async def nobody_is_turned_away(_: Request) -> Response | None:
        nonlocal times
        times += 1
        return None

    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (size, b" " * size) if chunked else b" " * size
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    async with listener, trio.open_nursery() as nursery:
        stream = await trio.open_tcp_stream(*listener.socket.getsockname())
        served = await listener.accept()
        connection = HttpConnection(served, HttpLimits(), echo, turns_away=nobody_is_turned_away)
        nursery.start_soon(connection.run)
        async with stream:
            said = "Connection: close\r\n"
            assert f"POST / {size}".encode() in await Caller(stream).exchange(head("/", said, framing) + body)
    assert times == asked


@trio_test
async def test_a_wrong_login_with_a_large_body_is_counted_once(tmp_path: Path) -> None:
    wrong = b64encode(b"alice:guess").decode()
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        await exchanged(door, announced(AT_THE_DOOR, f"Authorization: Basic {wrong}\r\n"))
        told = await door.ask("GET", "/metrics", {"authorization": "Bearer secret"})
        assert b"tidegate_http_logins_refused_total 1.0" in told.body
