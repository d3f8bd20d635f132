"""The time of a simulation, and how one is run: by a clock that jumps, with its tasks always in the same order.

Whoever simulates sleeps by `sleep`. Trio's own costs a cancel scope, its deadline and an exception each time, and the
runs of a simulation do little else; here a jump of the clock wakes who is due at once.
"""

import gc
import heapq
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import trio
import trio.testing


class JumpingClock:
    """Trio's clock for tests (`clock`), which looks at those who sleep here, too."""

    def __init__(self) -> None:
        self.clock = trio.testing.MockClock(autojump_threshold=0)
        self._inside: Any = self.clock
        # It cannot be derived from. Nothing outside the run moves it, so that its time is what it was last set to.
        self._inside._autojump = self._jump
        self._inside.current_time = lambda: self._inside._virtual_base
        self._inside.jumping = self
        self._alarms: list[list[Any]] = []
        """When, a number of its own, and whom to wake, if still anybody. Lists, for they are compared often."""
        self._numbers = itertools.count()

    async def sleep(self, seconds: float) -> None:
        """As trio's, in a run by this clock."""
        alarm = [self._inside._virtual_base + seconds, next(self._numbers), trio.lowlevel.current_task()]
        heapq.heappush(self._alarms, alarm)

        def abort(_: object) -> trio.lowlevel.Abort:
            alarm[2] = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def _jump(self) -> None:
        """Nobody can go on: it becomes as late as whoever is next waits for."""
        alarms = self._alarms
        while alarms and alarms[0][2] is None:
            heapq.heappop(alarms)
        inside: Any = trio._core._run  # type: ignore[attr-defined]
        deadline_s = inside.GLOBAL_RUN_CONTEXT.runner.deadlines.next_deadline()
        now_s = min(deadline_s, alarms[0][0]) if alarms else deadline_s
        if now_s == float("inf"):
            return
        self._inside._virtual_base = now_s
        while alarms and alarms[0][0] <= now_s:
            task = heapq.heappop(alarms)[2]
            if task is not None:
                trio.lowlevel.reschedule(task)


async def sleep(seconds: float) -> None:
    """For so long, by the clock of this run, whichever it is."""
    clock: JumpingClock | None = getattr(trio.lowlevel.current_clock(), "jumping", None)
    if clock is None or seconds <= 0:
        await trio.sleep(seconds)
    else:
        await clock.sleep(seconds)


@contextmanager
def deterministic(seed: float) -> Iterator[None]:
    """Trio shuffles tasks that are ready together: by a chance of ours."""
    inside = trio._core._run  # type: ignore[attr-defined]
    before = inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r
    inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r = True, random.Random(seed)
    try:
        yield
    finally:
        inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r = before


@contextmanager
def collected_at_the_end() -> Iterator[None]:
    """Disks and journals of nodes are large, and hang in cycles; looking for such garbage again and again meanwhile
    finds little."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        if was_enabled:
            gc.enable()


def run_simulated(program: Callable[..., Awaitable[object]], *arguments: object) -> None:
    """To its end, without any time passing outside."""
    with deterministic(1):
        trio.run(program, *arguments, clock=JumpingClock().clock)
