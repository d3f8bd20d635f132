"""A host that pauses does nothing, and then everything that it could have done meanwhile."""

import trio

from tests.simulation.pausing import HOST, Pauses
from tests.simulation.running import run_simulated, sleep


async def _tick(host: str, ticks: list[float]) -> None:
    HOST.set(host)
    async with trio.open_nursery() as nursery:
        # Whoever a task starts belongs to its host.
        nursery.start_soon(_tick_on, ticks)


async def _tick_on(ticks: list[float]) -> None:
    while True:
        await sleep(1)
        ticks.append(trio.current_time())


def test_only_the_others_go_on_while_a_host_pauses() -> None:
    pauses = Pauses()

    async def program() -> None:
        one: list[float] = []
        other: list[float] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_tick, "one", one)
            nursery.start_soon(_tick, "other", other)
            await sleep(2.5)
            pauses.pause("one")
            await sleep(5)
            assert (len(one), len(other)) == (2, 7)
            pauses.resume("one")
            await sleep(2.2)
            nursery.cancel_scope.cancel()
        start = one[0] - 1
        assert [round(at - start, 3) for at in one] == [1, 2, 7.5, 8.5, 9.5]

    with pauses.in_force():
        run_simulated(program)
