"""Who sleeps by the simulation's clock wakes in time, beside who waits by trio's own means, and can be cancelled."""

import trio

from tests.simulation.running import run_simulated, sleep


def test_sleepers_wake_in_the_order_of_their_times_beside_deadlines_of_trios_own() -> None:
    woken: list[tuple[str, float]] = []

    async def by_clock(name: str, seconds: float) -> None:
        await sleep(seconds)
        woken.append((name, trio.current_time()))

    async def by_deadline(name: str, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await trio.sleep_forever()
        woken.append((name, trio.current_time()))

    async def program() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(by_clock, "late", 3.5)
            nursery.start_soon(by_deadline, "between", 2.5)
            nursery.start_soon(by_clock, "early", 1.25)
            nursery.start_soon(by_deadline, "last", 4.75)

    run_simulated(program)
    assert woken == [("early", 1.25), ("between", 2.5), ("late", 3.5), ("last", 4.75)]


def test_a_sleeper_that_is_cancelled_does_not_hold_up_the_others() -> None:
    async def program() -> None:
        with trio.move_on_after(1) as scope:
            await sleep(5)
        assert scope.cancelled_caught
        assert trio.current_time() == 1
        await sleep(10)
        assert trio.current_time() == 11

    run_simulated(program)


def test_no_time_passes_for_who_does_not_want_to_sleep() -> None:
    async def program() -> None:
        await sleep(0)
        assert trio.current_time() == 0

    run_simulated(program)
