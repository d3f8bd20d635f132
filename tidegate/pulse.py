"""What keeps a node going: its timers are called when they are due, and what was written is synced."""

import logging
from collections.abc import Callable

import trio

from engine.clock import Clock
from engine.partition.sync import SyncRounds
from engine.timers import Timers

logger = logging.getLogger("tidegate")


class Pulse:
    """Two tasks of the loop, `drive_timers` and `drive_syncs`, and those who wake them."""

    def __init__(self, clock: Clock) -> None:
        self.timers = Timers(self._wake_timers)
        self._clock = clock
        self._marked = trio.Event()
        self._earlier = trio.Event()

    def wake_syncs(self) -> None:
        """Something was written."""
        self._marked.set()

    def _wake_timers(self) -> None:
        self._earlier.set()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> None:
        """Once, on the loop."""
        self.timers.call_at(self._clock.monotonic() + delay_s, callback)

    async def drive_syncs(self, rounds: SyncRounds) -> None:
        """Until cancelled."""
        while True:
            await self._marked.wait()
            self._marked = trio.Event()
            rounds.start_round()

    async def drive_timers(self) -> None:
        """Until cancelled."""
        while True:
            self._earlier = trio.Event()
            deadline = self.timers.next_deadline()
            if deadline is None:
                await self._earlier.wait()
            else:
                with trio.move_on_after(max(0, deadline - self._clock.monotonic())):
                    await self._earlier.wait()
            try:
                self.timers.run_due(self._clock.monotonic())
            except Exception:
                # A bug of whoever set the timer; the others are called in the next round.
                logger.exception("a timer's call failed")
