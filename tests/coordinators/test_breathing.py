"""Long work lets others go on."""

import trio
from trio.testing import trio_test

from coordinators.breathing import Breathing


@trio_test
async def test_others_run_after_every_slice() -> None:
    turns: list[str] = []

    async def other() -> None:
        for _ in range(3):
            turns.append("other")
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        breathing = Breathing(2)
        for number in range(20):
            turns.append(str(number))
            await breathing.did()
    assert turns[:2] == ["0", "1"], "a slice is worked through in one go"
    assert turns[: turns.index("19")].count("other") == 3


@trio_test
async def test_one_large_step_counts_for_many() -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await Breathing(100).did(100)
    assert scope.cancelled_caught
