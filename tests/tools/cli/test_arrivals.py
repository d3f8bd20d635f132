"""Input that is read while something else goes on."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tools.cli.arrivals import AHEAD, arriving


def test_items_arrive_in_order_and_come_to_an_end() -> None:
    async def work() -> list[int]:
        return [each async for each in arriving(iter(range(100)))]

    assert asyncio.run(work()) == list(range(100))


def test_an_item_arrives_before_the_next_one_is_there() -> None:
    more = threading.Event()

    def items() -> Iterator[str]:
        yield "first"
        assert more.wait(30)
        yield "second"

    async def work() -> list[str]:
        seen = []
        async for each in arriving(items()):
            seen.append(each)
            more.set()
        return seen

    assert asyncio.run(work()) == ["first", "second"]


def test_what_the_input_raises_is_raised() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("torn")

    async def work() -> None:
        async for _ in arriving(items()):
            pass

    with pytest.raises(ValueError, match="torn"):
        asyncio.run(work())


def test_only_so_much_is_read_ahead() -> None:
    taken: list[int] = []
    is_ahead = threading.Event()

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            if len(taken) == AHEAD + 2:
                is_ahead.set()
            yield number

    async def work() -> int:
        stream = arriving(items())
        assert await anext(stream) == 0
        assert await asyncio.to_thread(is_ahead.wait, 30)
        await asyncio.sleep(0.02)
        return len(taken)

    assert asyncio.run(work()) == AHEAD + 2
