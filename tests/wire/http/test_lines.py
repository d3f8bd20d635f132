"""Lines out of a body that arrives in pieces."""

import time
from collections import deque
from collections.abc import AsyncIterator

import pytest
import trio
from trio.testing import trio_test

from wire.http.lines import Lines
from wire.http.problems import Problem


class pieces:  # noqa: N801
    """A body that arrives so."""

    def __init__(self, *arriving: bytes) -> None:
        self._arriving = deque(arriving)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._arriving:
            raise StopAsyncIteration
        return self._arriving.popleft()


async def all_of(lines: Lines) -> list[bytes]:
    found: list[bytes] = []
    while some := await lines.some():
        found += some
    return found


@trio_test
async def test_lines_are_cut_wherever_the_pieces_are() -> None:
    assert await all_of(Lines(pieces(b"a\nb", b"c\n", b"\n\r\n", b"d"), 10)) == [b"a", b"bc", b"d"]


@trio_test
async def test_nothing_has_no_lines() -> None:
    assert await all_of(Lines(pieces(), 10)) == []


@pytest.mark.parametrize("arriving", [(b"x" * 11,), (b"x" * 6, b"x" * 6), (b"x" * 11 + b"\n",)])
@trio_test
async def test_a_line_that_is_too_long_is_refused(arriving: tuple[bytes, ...]) -> None:
    with pytest.raises(Problem, match=r"http\.max\.request\.bytes=10"):
        await all_of(Lines(pieces(*arriving), 10))


def cpu_s(count: int) -> float:
    """What a line costs that comes in so many pieces of a byte."""
    began = time.thread_time()
    trio.run(all_of, Lines(pieces(*[b"x"] * count), count))
    return time.thread_time() - began


def test_a_line_in_pieces_of_a_byte_costs_no_more_for_each_the_longer_it_is() -> None:
    assert cpu_s(200_000) < 40 * cpu_s(20_000), "ten times as much is ten times the work, not a hundred times"
