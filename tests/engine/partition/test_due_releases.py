"""How much is released at a time, and how late it was, by bounds."""

from engine.clock import ManualClock
from engine.partition.due_releases import (
    LATENESS_BOUNDS_MS,
    LEAST_TOGETHER,
    MOST_TOGETHER,
    TURN_S,
    LatenessCounts,
    ReleaseSize,
)
from engine.stage.pending import PendingRow
from engine.stage.stage import Due
from engine.stage.steady_clock import SteadyClock


def row(due_ms: int, *, relative: bool) -> PendingRow:
    return PendingRow(0, 1, 0, 1, 2, due_ms, relative, 0, 0, 10, 0)


def test_lateness_counts_in_the_clock_that_the_record_goes_by() -> None:
    clock = ManualClock(1_000_000)
    steady = SteadyClock(clock)
    clock.wall_ms += 30
    lateness = LatenessCounts()
    lateness.note(Due([row(1_000_000, relative=True), row(1_000_000, relative=False)], []), steady)
    assert lateness.counts[0] == 1
    assert lateness.counts[LATENESS_BOUNDS_MS.index(50)] == 1
    assert lateness.sum_ms == 30


def test_what_is_later_than_every_bound_is_counted_too() -> None:
    clock = ManualClock(10_000_000)
    lateness = LatenessCounts()
    lateness.note(Due([row(0, relative=False)], []), SteadyClock(clock))
    assert lateness.counts[-1] == 1


def test_releases_shrink_where_they_keep_the_loop_and_grow_where_they_do_not() -> None:
    size = ReleaseSize()
    for _ in range(20):
        size.took(size.limit, 2 * TURN_S)
    assert size.limit == LEAST_TOGETHER
    size.took(3, 0.0)
    assert size.limit == LEAST_TOGETHER  # so few say nothing about more
    for _ in range(20):
        size.took(size.limit, TURN_S / 10)
    assert size.limit == MOST_TOGETHER
