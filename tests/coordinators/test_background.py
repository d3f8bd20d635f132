"""Tasks begin while it is open, and end with the nursery."""

import trio
from trio.testing import trio_test

from coordinators.background import Background


@trio_test
async def test_a_task_begins_only_while_it_is_open() -> None:
    background, ran = Background(), []

    async def task(number: int) -> None:
        ran.append(number)

    background.start_soon(task, 1)
    async with trio.open_nursery() as nursery:
        with background.open(nursery):
            background.start_soon(task, 2)
        background.start_soon(task, 3)
    assert ran == [2]
