"""Wall time in microseconds for events: milliseconds are too coarse for a record that is stored in a third of one.

The broker's clock gives wall time in milliseconds and steady time in fractions of a second; together they give
microseconds that do not go back while the wall clock is not set.
"""

from engine.clock import Clock

# The wall clock's own grain is a millisecond; beyond two it was set, or slewed for long.
DRIFT_US = 2000


class TraceTime:
    """Reads the clock for events."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_us = 0
        self._anchor()

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        wall_us = self._clock.now_ms() * 1000
        now_us = int(self._clock.monotonic() * 1_000_000) + self._ahead_us
        if not -DRIFT_US <= now_us - wall_us <= DRIFT_US:
            self._anchor()
            return wall_us
        return now_us

    def _anchor(self) -> None:
        self._ahead_us = self._clock.now_ms() * 1000 - int(self._clock.monotonic() * 1_000_000)
