"""Steady time: wall time that does not step.

Delays are counted in it, so that setting the machine's clock makes none of them shorter or longer. It runs with the
monotonic clock, which goes on while the broker is restarted, as long as the machine runs. The steady time at the
monotonic clock's zero is the *anchor*; it is kept together with the id of the boot for which it is right. After the
machine was started anew, steady time goes on from the wall clock, less what the wall clock had been set ahead before.
"""

import math
from typing import NamedTuple

from engine.clock import Clock

_DIGITS = 3

NOTABLE_STEP_MS = 20


class Anchor(NamedTuple):
    """Steady time in microseconds where the monotonic clock of a boot stood at zero."""

    boot: str
    origin_us: int


class SteadyClock:
    """One stage's time."""

    def __init__(self, clock: Clock, ahead_ms: int = 0, anchor: Anchor | None = None) -> None:
        self._clock = clock
        if anchor is None or not clock.boot or anchor.boot != clock.boot:
            from_wall_ms = clock.now_ms() - ahead_ms - clock.monotonic() * 1000
            anchor = Anchor(clock.boot, round(from_wall_ms * 1000))
        self._origin_ms = anchor.origin_us / 1000
        self.anchor: Anchor | None = anchor if anchor.boot else None
        """To go on from in the next process; None where nothing tells one boot from another."""

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
