"""Bodies that are taken piece by piece and answers that are written so, over a real socket."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio
from trio.testing import trio_test

from engine.errors import InvalidRequest
from tests.wire.http.door import Caller
from wire.http.config import HttpLimits
from wire.http.connection import HttpConnection
from wire.http.messages import AnswerSink, Request, Response
from wire.http.problems import Problem

LIMITS = HttpLimits(max_request_bytes=100, request_timeout_s=5.0, max_idle_s=5.0, stream_idle_s=5.0)
BRISK = HttpLimits(max_request_bytes=100, request_timeout_s=5.0, max_idle_s=5.0, stream_idle_s=0.1)
CHUNKED = b"POST /in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
CLOSING = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@asynccontextmanager
async def connected(
    respond: Callable[[Request], Awaitable[Response]], limits: HttpLimits = LIMITS
) -> AsyncIterator[Caller]:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    async with listener, trio.open_nursery() as nursery:
        stream = await trio.open_tcp_stream(*listener.socket.getsockname())
        served = await listener.accept()
        nursery.start_soon(HttpConnection(served, limits, respond, lambda request: request.target == "/in").run)
        async with stream:
            yield Caller(stream)


async def sizes(request: Request) -> Response:
    """Answers each piece with its size, while more may come."""

    async def write(sink: AnswerSink) -> None:
        assert request.pieces is not None
        try:
            async for piece in request.pieces:
                await sink.send(b"<%d>" % len(piece))
        except Problem as problem:
            await sink.send(b"!" + problem.detail.encode())

    return Response(200, media_type="text/plain", write=write)


async def received_until(caller: Caller, wanted: bytes) -> bytes:
    received = b""
    with trio.fail_after(5):
        while wanted not in received:
            piece = await caller.stream.receive_some(65536)
            assert piece, received
            received += piece
    return received


@trio_test
async def test_pieces_are_answered_while_others_are_still_to_come() -> None:
    async with connected(sizes) as caller:
        await caller.stream.send_all(CHUNKED + chunk(b"abc"))
        assert b"transfer-encoding: chunked" in (await received_until(caller, b"<3>")).lower()
        await caller.stream.send_all(chunk(b"abcde"))
        await received_until(caller, b"<5>")
        await caller.stream.send_all(b"0\r\n\r\n" + b"GET /in HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await caller.rest()).count(b"HTTP/1.1 200") == 1


@trio_test
async def test_a_stream_may_be_larger_than_a_body() -> None:
    async with connected(sizes) as caller:
        answer = await caller.exchange(CLOSING + chunk(b"x" * 90) * 50 + b"0\r\n\r\n")
        sent = sum(int(each.split(b">")[0]) for each in answer.split(b"<")[1:])
        assert sent == 90 * 50


@trio_test
async def test_a_stream_that_brings_nothing_ends() -> None:
    async with connected(sizes, BRISK) as caller:
        await caller.stream.send_all(CHUNKED)
        assert b"!nothing came for http.stream.max.idle.ms" in await caller.rest()


@trio_test
async def test_a_stream_that_is_malformed_ends() -> None:
    async with connected(sizes) as caller:
        assert b"!the body ends early" in await caller.exchange(CHUNKED + b"zz\r\n")


@trio_test
async def test_whoever_sends_faster_than_is_taken_waits() -> None:
    taken = 0
    may_go_on = trio.Event()

    async def slow(request: Request) -> Response:
        async def write(sink: AnswerSink) -> None:
            nonlocal taken
            assert request.pieces is not None
            await may_go_on.wait()
            async for piece in request.pieces:
                taken += len(piece)
            await sink.send(b"done")

        return Response(200, write=write)

    size = 16 * 1024 * 1024
    async with connected(slow) as caller, trio.open_nursery() as nursery:
        is_sent = trio.Event()

        async def send() -> None:
            await caller.stream.send_all(CLOSING + chunk(b"x" * size) + b"0\r\n\r\n")
            is_sent.set()

        nursery.start_soon(send)
        await trio.sleep(0.1)
        assert not is_sent.is_set()
        may_go_on.set()
        await received_until(caller, b"done")
        assert taken == size


@trio_test
async def test_whoever_takes_nothing_is_cut_off() -> None:
    ended = trio.Event()

    async def flood(_: Request) -> Response:
        async def write(sink: AnswerSink) -> None:
            try:
                while True:
                    await sink.send(b"x" * 65536)
            finally:
                ended.set()

        return Response(200, write=write)

    async with connected(flood, BRISK) as caller:
        await caller.stream.send_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        with trio.fail_after(5):
            await ended.wait()


@trio_test
async def test_an_answer_that_cannot_be_completed_is_seen_to_be_incomplete() -> None:
    async def broken(_: Request) -> Response:
        async def write(sink: AnswerSink) -> None:
            await sink.send(b"some")
            raise InvalidRequest("no more")

        return Response(200, write=write)

    async with connected(broken) as caller:
        answer = await caller.exchange(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"some" in answer
        assert not answer.endswith(b"0\r\n\r\n")


@trio_test
async def test_of_a_stream_only_the_head_is_given_to_who_asks_for_that() -> None:
    async with connected(sizes) as caller:
        answer = await caller.exchange(b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"\r\n\r\n")
