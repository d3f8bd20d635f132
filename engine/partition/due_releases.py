"""Releases of what is due: one timer for the record that is due next, how much is released at a time, and how late."""

import logging
import math
from bisect import bisect_left

from attrs import define, field

from engine.clock import Clock
from engine.errors import BrokerError
from engine.partition.durable_log import DurableLog
from engine.partition.lane_readers import LaneReaders
from engine.partition.release_life import ReleaseLife
from engine.stage.stage import Due, Stage
from engine.stage.steady_clock import SteadyClock
from engine.timers import Timer, Timers

logger = logging.getLogger("tidegate.release")

WALL_CHECK_S = 0.5
TIMER_GRAIN_S = 0.0005
TTL_CHECK_S = 1.0
RELEASED_TOGETHER = 200
LEAST_TOGETHER = 50
MOST_TOGETHER = 500
TURN_S = 0.0035
"""How long a release may keep the loop: a pile that is due all at once must not keep others waiting."""
LATENESS_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 250, 1_000, 10_000, 60_000)


@define(eq=False)
class ReleaseSize:
    """How many records are released at a time."""

    limit: int = RELEASED_TOGETHER

    def took(self, count: int, duration_s: float) -> None:
        """How long a release of that many records has kept the loop: the next is larger or smaller accordingly."""
        if duration_s > TURN_S:
            self.limit = max(LEAST_TOGETHER, self.limit * 3 // 4)
        elif count >= self.limit and duration_s < TURN_S / 2:
            self.limit = min(MOST_TOGETHER, self.limit * 5 // 4)


@define(eq=False)
class LatenessCounts:
    """How many records were released how late: up to each bound, and beyond the last."""

    counts: list[int] = field(factory=lambda: [0] * (len(LATENESS_BOUNDS_MS) + 1))
    sum_ms: int = 0

    def note(self, due: Due, clock: SteadyClock) -> None:
        """These are on their way."""
        steady_ms, wall_ms = clock.now_ms(), clock.wall_ms()
        for row in due.ready:
            late_ms = max(0, (steady_ms if row.relative else wall_ms) - row.due_ms)
            self.counts[bisect_left(LATENESS_BOUNDS_MS, late_ms)] += 1
            self.sum_ms += late_ms


class DueReleases:
    """See the module."""

    def __init__(
        self,
        partition: DurableLog,
        stage: Stage,
        life: ReleaseLife,
        readers: LaneReaders,
        timers: Timers,
        clock: Clock,
    ) -> None:
        self.size = ReleaseSize()
        self.lateness = LatenessCounts()
        self._partition = partition
        self._stage = stage
        self._life = life
        self._readers = readers
        self._timers = timers
        self._clock = clock
        self._timer: Timer | None = None
        self._looks_at = math.inf
        """When the timer is set for; minus infinity while the look that it was set for waits for its turn."""
        self._not_before = 0.0

    def arm(self) -> None:
        """See to it that somebody looks when the next record is due."""
        at = self._next_look()
        if at >= self._looks_at - TIMER_GRAIN_S:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._looks_at = self._timers.call_at(at, self._fired), at

    def _next_look(self) -> float:
        stage, now, at = self._stage, self._clock.monotonic(), math.inf
        steady_ms, wall_ms = stage.next_due()
        if steady_ms is not None:
            at = now + max(0, steady_ms - stage.clock.now_ms()) / 1000
        if wall_ms is not None:
            # The wall clock may be set: look again before long.
            at = min(at, now + min(max(0, wall_ms - stage.clock.wall_ms()) / 1000, WALL_CHECK_S))
        at = max(at, self._not_before)
        if stage.config.message_ttl_ms >= 0 and len(stage.state.lanes):
            at = min(at, now + TTL_CHECK_S)
        return at

    def _fired(self) -> None:
        self._timer, self._looks_at = None, -math.inf
        if not self._partition.removed and not self._life.ended:
            self._life.submit(self.look)

    def look(self) -> None:
        """Release what is due by now, as much as is released at a time; the timer is set anew after this turn."""
        self._looks_at = math.inf
        stage = self._stage
        due = stage.collect(self.size.limit)
        if not due.ready and not due.expired and stage.config.message_ttl_ms >= 0:
            due = stage.outlived(self.size.limit)
        if not due.ready and not due.expired:
            return
        try:
            self._life.check_online()
            intent = stage.release_due(due, self._partition.log.end_offset)
        except BrokerError as error:
            logger.error("%s: what is due waits: %s", self._partition.log.name, error)
            stage.put_back(due)
            self._not_before = self._life.retry_at(error)
            return
        self.lateness.note(due, stage.clock)
        if intent is not None:
            self._life.carry_out(intent)
        else:
            self._readers.expect_growth()
