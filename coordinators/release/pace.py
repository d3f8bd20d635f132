"""How much is released at once, and how late it was."""

from bisect import bisect_left

from attrs import define, field

from engine.stage.events import Intent
from engine.stage.stage import Due
from engine.stage.steady_clock import SteadyClock

RELEASED_TOGETHER = 200
"""Some milliseconds of the loop's time: a pile that falls due at once must not keep others waiting."""

LATENESS_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 250, 1_000, 10_000, 60_000)


@define(eq=False)
class Pace:
    """The measure of one partition's releases."""

    limit: int = RELEASED_TOGETHER
    lateness: list[int] = field(factory=lambda: [0] * (len(LATENESS_BOUNDS_MS) + 1))
    """How many records were released so late: up to each bound, and beyond the last."""
    lateness_sum_ms: int = 0
    in_flight: int = 0

    def due(self, due: Due, clock: SteadyClock) -> None:
        """These are on their way."""
        steady_ms, wall_ms = clock.now_ms(), clock.wall_ms()
        for row in due.ready:
            late_ms = max(0, (steady_ms if row.relative else wall_ms) - row.due_ms)
            self.lateness[bisect_left(LATENESS_BOUNDS_MS, late_ms)] += 1
            self.lateness_sum_ms += late_ms

    def released(self, intent: Intent, now_ms: int) -> None:
        """An intent's records can be read."""
