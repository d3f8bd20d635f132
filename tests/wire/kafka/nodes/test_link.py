"""A link between nodes: pipelined, in order, with deadlines; broken once and for all."""

import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, memory_stream_pair, trio_test

from coordinators.replication.ports import LinkBroken
from wire.kafka.codec import decode_request_header, response_encoder, response_start
from wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from wire.kafka.nodes.link import STRANGER_BYTES, Link, introduce
from wire.kafka.nodes.trust import NodeTrust

HEARTBEAT, VERSION = 12, 4


@define(eq=False)
class OtherEnd:
    """What a link is connected to, played by hand."""

    stream: Any
    _buffer: bytearray = field(factory=bytearray)

    async def request(self) -> tuple[int, str | None]:
        """The correlation id and the client id of the next."""
        (size,) = struct.unpack(">i", await self._exactly(4))
        _, _, correlation_id, client_id, _ = decode_request_header(await self._exactly(size))
        return correlation_id, client_id

    async def answer(self, correlation_id: int, error_code: int) -> None:
        (body,) = response_encoder(HEARTBEAT, VERSION)(HeartbeatResponse(error_code=error_code))
        assert isinstance(body, bytes)
        start = response_start(HEARTBEAT, VERSION)
        await self.stream.send_all(start.pack(start.size - 4 + len(body), correlation_id) + body)

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._buffer += await self.stream.receive_some()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken


@asynccontextmanager
async def linked() -> AsyncIterator[tuple[Link, OtherEnd, trio.Nursery]]:
    ours, theirs = memory_stream_pair()
    link = Link(ours, "tidegate-node-2")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.receive)
        yield link, OtherEnd(theirs), nursery
        nursery.cancel_scope.cancel()


async def ask(link: Link, timeout_s: float = 5.0) -> int:
    answer = await link.ask(HeartbeatRequest(group_id="g"), (0, VERSION), timeout_s)
    code: int = answer.error_code
    return code


async def broken(asking: Callable[[], Awaitable[object]]) -> str:
    with pytest.raises(LinkBroken) as refused:
        await asking()
    return str(refused.value)


@trio_test
async def test_requests_do_not_wait_for_the_answers_before_them() -> None:
    found: list[int] = []
    async with linked() as (link, other, nursery):

        async def one() -> None:
            found.append(await ask(link))

        for _ in range(3):
            nursery.start_soon(one)
        requests = [await other.request() for _ in range(3)]
        assert {client_id for _, client_id in requests} == {"tidegate-node-2"}
        for number, (correlation_id, _) in enumerate(requests):
            await other.answer(correlation_id, number)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(found) == [0, 1, 2]


def test_an_answer_that_does_not_come_in_time_breaks_the_link() -> None:
    trio.run(_wait_too_long, clock=MockClock(autojump_threshold=0))


async def _wait_too_long() -> None:
    async with linked() as (link, other, _):
        began = trio.current_time()
        assert "within 5.0 s" in await broken(lambda: ask(link))
        assert trio.current_time() - began == 5.0
        assert link.is_broken
        await broken(lambda: ask(link))
        await other.request()
        with pytest.raises(trio.BrokenResourceError):
            await other.answer(1, 0)


@trio_test
async def test_all_who_wait_are_told_when_the_other_end_goes() -> None:
    told: list[str] = []
    async with linked() as (link, other, nursery):

        async def one() -> None:
            told.append(await broken(lambda: ask(link)))

        for _ in range(3):
            nursery.start_soon(one)
        await other.request()
        await other.stream.aclose()
        with trio.fail_after(5):
            while len(told) < 3:
                await trio.lowlevel.checkpoint()


@trio_test
async def test_an_idle_link_notices_the_end_of_the_other() -> None:
    async with linked() as (link, other, _):
        await other.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert link.is_broken


@trio_test
async def test_an_answer_nobody_waits_for_any_more_is_passed_over() -> None:
    async with linked() as (link, other, nursery):
        with trio.CancelScope() as scope:
            nursery.start_soon(_cancel_after_request, other, scope)
            await ask(link)
        assert not link.is_broken
        nursery.start_soon(other.answer, 1, 27)
        nursery.start_soon(_answer_next, other)
        assert await ask(link) == 5


async def _cancel_after_request(other: OtherEnd, scope: trio.CancelScope) -> None:
    await other.request()
    scope.cancel()


async def _answer_next(other: OtherEnd) -> None:
    correlation_id, _ = await other.request()
    await trio.testing.wait_all_tasks_blocked()
    await other.answer(correlation_id, 5)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (struct.pack(">i", STRANGER_BYTES + 1), "are the most"),
        (struct.pack(">i", -1), "are the most"),
        (struct.pack(">iib", 5, 99, 0), "another request"),
        (struct.pack(">iib", 5, 1, 0), ""),
    ],
)
@trio_test
async def test_what_is_too_large_or_not_understood_breaks_the_link(sent: bytes, reason: str) -> None:
    async with linked() as (link, other, nursery):

        async def mislead() -> None:
            await other.request()
            await other.stream.send_all(sent)

        nursery.start_soon(mislead)
        assert reason in await broken(lambda: ask(link))


@pytest.mark.parametrize(
    ("taken", "asked", "version"),
    [((0, 4), (0, 4), 4), ((0, 2), (1, 4), 2), ((3, 9), (0, 4), 4), ((0, 2), (3, 4), None), (None, (0, 4), None)],
)
@trio_test
async def test_requests_go_in_the_highest_version_that_both_know(
    taken: tuple[int, int] | None, asked: tuple[int, int], version: int | None
) -> None:
    async with linked() as (link, _, _):
        request = HeartbeatRequest(group_id="g")
        assert link.version_of(request, asked) == asked[1], "nothing is known yet"
        link.taken = {} if taken is None else {HEARTBEAT: taken}
        if version is None:
            with pytest.raises(LinkBroken, match="this node asks Heartbeat in versions"):
                await link.ask(request, asked, 5.0)
            assert not link.is_broken
        else:
            assert link.version_of(request, asked) == version


@trio_test
async def test_somebody_who_speaks_another_protocol_is_no_node() -> None:
    async with linked() as (link, other, nursery):
        nursery.start_soon(other.stream.send_all, b"HTTP/1.1 400 Bad Request\r\n\r\n")
        exchange = NodeTrust(2, bytes, b"secret").ask(1, 1)
        assert "are the most" in await broken(lambda: introduce(link, exchange, 1 << 20, 5.0))
