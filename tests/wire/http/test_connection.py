"""The protocol over a real socket: several requests, large and broken ones, slow callers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import memory_stream_pair, trio_test

from coordinators.waiting import SLICE
from tests.wire.http.door import Caller
from wire.http.config import HttpLimits
from wire.http.connection import HttpConnection
from wire.http.messages import Request, Response

LIMITS = HttpLimits(max_request_bytes=1000, max_header_bytes=2048, request_timeout_s=5.0, max_idle_s=5.0)
BRISK = HttpLimits(max_request_bytes=1000, request_timeout_s=0.1, max_idle_s=0.1)


async def echo(request: Request) -> Response:
    return Response(200, f"{request.method} {request.target} {len(request.body)}".encode(), "text/plain")


@asynccontextmanager
async def connected(limits: HttpLimits = LIMITS) -> AsyncIterator[Caller]:
    """A caller of a door that echoes; the door's side has ended after the block."""
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    async with listener, trio.open_nursery() as nursery:
        stream = await trio.open_tcp_stream(*listener.socket.getsockname())
        served = await listener.accept()
        nursery.start_soon(HttpConnection(served, limits, echo).run)
        async with stream:
            yield Caller(stream)


@trio_test
async def test_several_requests_use_one_connection_and_may_be_sent_at_once() -> None:
    async with connected() as caller:
        first = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
        last = b"POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        received = await caller.exchange(first + last)
        assert received.count(b"HTTP/1.1 200") == 2
        assert received.index(b"GET /1 0") < received.index(b"POST /2 3")


@trio_test
async def test_a_body_in_chunks_is_put_together() -> None:
    async with connected() as caller:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        assert b"POST / 5" in await caller.exchange(head + b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")


@trio_test
async def test_others_have_their_turns_while_chunks_of_a_byte_are_taken_apart() -> None:
    turns: list[int] = [0]

    async def count(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        while True:
            await trio.lowlevel.checkpoint()
            turns[0] += 1

    near, far = memory_stream_pair()
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    await near.send_all(head + b"1\r\na\r\n" * 10_000 + b"0\r\n\r\n")
    await near.send_eof()
    async with trio.open_nursery() as nursery:
        await nursery.start(count)
        await HttpConnection(far, HttpLimits(), echo).run()
        nursery.cancel_scope.cancel()
    assert turns[0] >= 10_000 / SLICE


@trio_test
async def test_a_caller_that_asks_whether_to_go_on_is_told() -> None:
    async with connected() as caller:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        await caller.stream.send_all(head)
        assert b"HTTP/1.1 100" in await caller.stream.receive_some()
        assert b"POST / 2" in await caller.exchange(b"ab")


@trio_test
async def test_head_is_answered_without_a_body() -> None:
    async with connected() as caller:
        received = await caller.exchange(b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert received.endswith(b"\r\n\r\n")
        assert b"Content-Length: 8" in received


@pytest.mark.parametrize(
    ("data", "status"),
    [
        pytest.param(b"hello\r\n\r\n", 400, id="no-http"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, id="tls"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no-host"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400, id="bad-length"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="lengths"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 5000, 431, id="long-header"),
        pytest.param(b"GET /" + b"x" * 5000, 431, id="long-target"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 50_000 + b"\r\n\r\n", 431, id="long-and-whole"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX:" + b" " * 50_000 + b"x\r\n\r\n", 431, id="long-padding"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 2048 + b"\r\n\r\n", 431, id="a-little-too-long"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 1900 + b"\r\n\r\n", 400, id="digits"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            id="length-and-chunks",
        ),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413, id="announced-too-large"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001,
            413,
            id="too-large",
        ),
    ],
)
@trio_test
async def test_what_cannot_be_a_request_is_refused_and_the_connection_ended(data: bytes, status: int) -> None:
    async with connected() as caller:
        received = await caller.exchange(data)
        assert received.startswith(b"HTTP/1.1 %d" % status), received
        assert b"application/problem+json" in received
        assert b"connection: close" in received.lower()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHo", id="head"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc", id="body"),
    ],
)
@trio_test
async def test_who_does_not_finish_a_request_is_told_and_cut_off(data: bytes) -> None:
    async with connected(BRISK) as caller:
        assert (await caller.exchange(data)).startswith(b"HTTP/1.1 408")


@trio_test
async def test_a_trickle_does_not_keep_a_request_alive() -> None:
    async with connected(BRISK) as caller:
        with trio.fail_after(10):
            try:
                while True:
                    await caller.stream.send_all(b"G")
                    await trio.sleep(0.02)
            except trio.BrokenResourceError:
                pass


@trio_test
async def test_a_head_and_a_body_larger_than_what_a_head_may_take_are_taken_together() -> None:
    async with connected(LIMITS) as caller:
        head = b"POST / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 1900 + b"\r\nContent-Length: 1000\r\n"
        assert b"POST / 1000" in await caller.exchange(head + b"Connection: close\r\n\r\n" + bytes(1000))


@trio_test
async def test_who_never_asks_anything_is_cut_off_sooner_than_who_has_asked() -> None:
    limits = HttpLimits(request_timeout_s=0.1, max_idle_s=60)
    async with connected(limits) as caller:
        assert await caller.rest() == b""
    async with connected(limits) as caller:
        await caller.stream.send_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"200" in await caller.stream.receive_some()
        await trio.sleep(0.3)
        assert b"GET /2" in await caller.exchange(b"GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")


@trio_test
async def test_who_says_nothing_is_cut_off_without_a_word() -> None:
    async with connected(BRISK) as caller:
        assert await caller.rest() == b""


@trio_test
async def test_a_caller_that_does_not_take_its_answer_is_cut_off() -> None:
    async def much(_: Request) -> Response:
        return Response(200, bytes(50_000_000), "text/plain")

    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    async with listener, await trio.open_tcp_stream(*listener.socket.getsockname()) as stream:
        served = await listener.accept()
        await stream.send_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        with trio.fail_after(10):
            await HttpConnection(served, BRISK, much).run()


@trio_test
async def test_a_caller_that_is_gone_ends_its_connection() -> None:
    async with connected() as caller:
        await caller.stream.send_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        await caller.stream.aclose()
