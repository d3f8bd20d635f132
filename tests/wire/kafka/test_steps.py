"""Work in steps goes on for a slice of time, ends with its result, and lets others in between."""

from collections.abc import Generator

import pytest
import trio
from trio.testing import trio_test

from wire.kafka.steps import SLICE_S, TooLarge, Work, lazily


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def steps(watch: Watch, count: int, each_s: float) -> Generator[int, None, str]:
    for _ in range(count):
        watch.time += each_s
        yield 10
    return "done"


def test_short_work_is_done_at_once() -> None:
    watch = Watch()
    work = Work(steps(watch, 5, SLICE_S / 10), watch)
    assert work.advance()
    assert work.result == "done"


def test_long_work_pauses_after_a_slice() -> None:
    watch = Watch()
    work = Work(steps(watch, 100, SLICE_S / 4), watch)
    slices = 1
    while not work.advance():
        slices += 1
    assert 20 <= slices <= 25
    assert work.result == "done"


@trio_test
async def test_others_run_while_work_goes_on() -> None:
    watch, others = Watch(), 0

    async def run() -> None:
        nonlocal others
        while True:
            others += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        assert await Work(steps(watch, 50, SLICE_S * 2), watch).finish() == "done"
        nursery.cancel_scope.cancel()
    assert others >= 40


def test_what_grows_too_large_is_given_up_before_it_is_whole() -> None:
    watch = Watch()
    made = steps(watch, 100, 0)
    with pytest.raises(TooLarge):
        Work(made, watch, max_bytes=55).advance()
    assert len(list(made)) == 94, "the sixth step was the last"
    assert Work(steps(watch, 5, 0), watch, max_bytes=50).advance()


def test_elements_are_made_when_they_are_asked_for() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number * 2

    elements = lazily(range(3), make)
    assert len(elements) == 3
    assert bool(elements)
    assert made == []
    assert list(elements) == [0, 2, 4]
    assert not lazily([], make)
