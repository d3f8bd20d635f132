"""Room for opened batches: bounded, first come, first served, nothing lost to those who give up."""

import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from coordinators.records.opening_room import OpeningRoom


@trio_test
async def test_past_the_bound_one_waits_for_its_turn_and_in_order() -> None:
    room, order = OpeningRoom(100), list[str]()
    gates = {name: trio.Event() for name in "abc"}

    async def hold(name: str, size: int) -> None:
        async with room.holding(size):
            order.append(name)
            await gates[name].wait()

    async with trio.open_nursery() as nursery:
        for name, size in (("a", 60), ("b", 60), ("c", 10)):
            nursery.start_soon(hold, name, size)
            await wait_all_tasks_blocked()
        # `c` would fit, and does not overtake.
        assert order == ["a"]
        assert room.statistics() == {"held_bytes": 60, "waiting": 2}
        gates["a"].set()
        await wait_all_tasks_blocked()
        assert sorted(order) == ["a", "b", "c"], "there is room for both now, and trio runs them in any order"
        assert room.held_bytes == 70
        gates["b"].set()
        gates["c"].set()
    assert room.statistics() == {"held_bytes": 0, "waiting": 0}


@trio_test
async def test_who_wants_more_than_there_is_gets_all_of_it() -> None:
    room = OpeningRoom(100)
    async with room.holding(1_000):
        assert room.held_bytes == 100
    assert room.held_bytes == 0


@trio_test
async def test_who_gives_up_leaves_nothing_behind_and_lets_others_pass() -> None:
    room, scope, passed = OpeningRoom(100), trio.CancelScope(), list[int]()

    async def give_up() -> None:
        with scope:
            async with room.holding(80):
                raise AssertionError("there was no room")

    async def follow() -> None:
        async with room.holding(20):
            passed.append(room.held_bytes)

    async with trio.open_nursery() as nursery, room.holding(50):
        for task in (give_up, follow):
            nursery.start_soon(task)
            await wait_all_tasks_blocked()
        assert passed == []
        scope.cancel()
        await wait_all_tasks_blocked()
        assert passed == [70]
    assert room.statistics() == {"held_bytes": 0, "waiting": 0}
