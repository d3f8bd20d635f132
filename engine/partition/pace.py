"""How much is released at once, and how late it was."""

from bisect import bisect_left

from attrs import define, field

from engine.stage.stage import Due
from engine.stage.steady_clock import SteadyClock

RELEASED_TOGETHER = 200
LEAST_TOGETHER = 50
MOST_TOGETHER = 500
TURN_S = 0.0035
"""How long a release may keep the loop: a pile that is due all at once must not keep others waiting."""

LATENESS_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 250, 1_000, 10_000, 60_000)


@define(eq=False)
class Pace:
    """The measure of one partition's releases."""

    limit: int = RELEASED_TOGETHER
    lateness: list[int] = field(factory=lambda: [0] * (len(LATENESS_BOUNDS_MS) + 1))
    """How many records were released so late: up to each bound, and beyond the last."""
    lateness_sum_ms: int = 0

    def due(self, due: Due, clock: SteadyClock) -> None:
        """These are on their way."""
        steady_ms, wall_ms = clock.now_ms(), clock.wall_ms()
        for row in due.ready:
            late_ms = max(0, (steady_ms if row.relative else wall_ms) - row.due_ms)
            self.lateness[bisect_left(LATENESS_BOUNDS_MS, late_ms)] += 1
            self.lateness_sum_ms += late_ms

    def took(self, count: int, duration_s: float) -> None:
        """How long a release of that many records has kept the loop: the next is larger or smaller accordingly."""
        if duration_s > TURN_S:
            self.limit = max(LEAST_TOGETHER, self.limit * 3 // 4)
        elif count >= self.limit and duration_s < TURN_S / 2:
            self.limit = min(MOST_TOGETHER, self.limit * 5 // 4)
