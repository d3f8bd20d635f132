"""How many records enter and leave the lanes per second, over the last minute.

The lanes count; every few seconds the counts are noted, and a rate is the difference to the oldest note of the minute.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from attrs import define, field

from engine.clock import Clock
from engine.partition.staging import Staging
from engine.stage.lanes import LANES
from engine.timers import Timers

INTERVAL_S = 5.0
WINDOW_S = 60.0
SLICE_STAGES = 200
"""How many stages are looked at in one go."""
PAUSE_S = 0.01


class LaneCounts(NamedTuple):
    """What was counted at a time, per lane."""

    at: float
    enqueued: tuple[int, ...]
    dequeued: tuple[int, ...]


NOTHING = (0,) * LANES


@define(eq=False)
class LaneRates:
    """See the module. `stages` gives all stages of this node."""

    stages: Callable[[], Sequence[Staging]]
    clock: Clock
    timers: Timers
    _notes: dict[Staging, deque[LaneCounts]] = field(factory=dict, init=False)
    _noted_at: float | None = field(default=None, init=False)

    def start(self) -> None:
        """Take notes from now on."""
        self._note_all()

    def rates(self, staging: Staging) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Records per second that entered and that left each lane."""
        now = _counts(staging, self.clock.monotonic())
        before = self._oldest(staging)
        elapsed_s = now.at - before.at
        if elapsed_s <= 0:
            return (0.0,) * LANES, (0.0,) * LANES
        return (
            _per_second(before.enqueued, now.enqueued, elapsed_s),
            _per_second(before.dequeued, now.dequeued, elapsed_s),
        )

    def _oldest(self, staging: Staging) -> LaneCounts:
        notes = self._notes.get(staging)
        if notes:
            return notes[0]
        # Not there when notes were last taken: whatever it counted came since.
        at = -math.inf if self._noted_at is None else self._noted_at
        return LaneCounts(at, NOTHING, NOTHING)

    def _note_all(self) -> None:
        stages = list(self.stages())
        before, self._noted_at = self._noted_at, self.clock.monotonic()
        present = set(stages)
        self._notes = {staging: notes for staging, notes in self._notes.items() if staging in present}
        self._note_some(iter(stages), before)
        self.timers.call_at(self._noted_at + INTERVAL_S, self._note_all)

    def _note_some(self, left: Iterator[Staging], before: float | None) -> None:
        now = self.clock.monotonic()
        looked_at = 0
        for staging in islice(left, SLICE_STAGES):
            looked_at += 1
            self._note(staging, now, before)
        if looked_at == SLICE_STAGES:
            self.timers.call_at(now + PAUSE_S, lambda: self._note_some(left, before))

    def _note(self, staging: Staging, now: float, before: float | None) -> None:
        notes = self._notes.get(staging)
        if notes is None:
            notes = self._notes[staging] = deque()
            if before is not None:
                notes.append(LaneCounts(before, NOTHING, NOTHING))
        notes.append(_counts(staging, now))
        while notes[0].at < now - WINDOW_S:
            notes.popleft()


def _counts(staging: Staging, at: float) -> LaneCounts:
    lanes = staging.stage.state.lanes.statistics(staging.stage.clock.now_ms())
    return LaneCounts(at, tuple(lane.enqueued for lane in lanes), tuple(lane.dequeued for lane in lanes))


def _per_second(before: Sequence[int], now: Sequence[int], elapsed_s: float) -> tuple[float, ...]:
    # A stage that was loaded anew may have counted less.
    return tuple(round(max(0, b - a) / elapsed_s, 3) for a, b in zip(before, now, strict=True))
