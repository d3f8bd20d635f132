"""Wall time in microseconds for events: milliseconds are too coarse for a record that is stored in a third of one.

The broker's clock gives wall time in milliseconds and steady time in fractions of a second. When a trace begins, it is
noted how far wall time is ahead of steady time; its events are timed by steady time plus that. So the time between two
events of a trace is the time that really passed, even if the wall clock was set meanwhile. The next trace uses the new
wall time.
"""

from engine.clock import Clock

# The wall clock's own grain is a millisecond; beyond two it was set, or slewed for long.
DRIFT_US = 2000


class TraceTime:
    """Reads the clock for events."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_us = clock.now_ms() * 1000 - self._steady_us()

    def ahead_us(self) -> int:
        """How far wall time is ahead of steady time, for a trace that begins now."""
        ahead_us = self._clock.now_ms() * 1000 - self._steady_us()
        if not -DRIFT_US <= ahead_us - self._ahead_us <= DRIFT_US:
            self._ahead_us = ahead_us
        return self._ahead_us

    def now_us(self, ahead_us: int) -> int:
        """Microseconds since the epoch, by the wall clock as it was when the trace began."""
        return self._steady_us() + ahead_us

    def _steady_us(self) -> int:
        return int(self._clock.monotonic() * 1_000_000)
