"""Steady time: wall time that does not step.

A delay counts in it, so that setting the machine's clock neither shortens nor stretches it. It runs with the
monotonic clock; across restarts it goes on from the wall clock, less what that had been set ahead before.
"""

import math

from engine.clock import Clock

_DIGITS = 3

NOTABLE_STEP_MS = 20


class SteadyClock:
    """One stage's time."""

    def __init__(self, clock: Clock, ahead_ms: int = 0) -> None:
        self._clock = clock
        self._origin_ms = clock.now_ms() - ahead_ms - clock.monotonic() * 1000

    def now_ms(self) -> int:
        """Milliseconds that pass as real ones do."""
        return int(self._origin_ms + self._clock.monotonic() * 1000)

    def ceiling_ms(self) -> int:
        """The same, rounded up: a delay that counts from here is never over too early."""
        return math.ceil(round(self._origin_ms + self._clock.monotonic() * 1000, _DIGITS))

    def wall_ms(self) -> int:
        """What the machine's clock says."""
        return self._clock.now_ms()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self._clock.monotonic()

    def stepped(self, known_ms: int) -> int | None:
        """By how much the wall clock is ahead now, if that is not what is known of it."""
        ahead_ms = self.wall_ms() - self.now_ms()
        return None if abs(ahead_ms - known_ms) < NOTABLE_STEP_MS else ahead_ms
