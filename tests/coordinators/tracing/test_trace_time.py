"""Microseconds from a clock of milliseconds."""

from coordinators.tracing.trace_time import TraceTime
from engine.clock import ManualClock


def test_it_counts_microseconds() -> None:
    clock = ManualClock(1_000_000, 5.0)
    time = TraceTime(clock)
    begun = time.ahead_us()
    assert time.now_us(begun) == 1_000_000_000
    clock.seconds += 0.000250
    assert time.now_us(begun) == 1_000_000_250


def test_it_does_not_go_back_while_the_wall_clock_ticks() -> None:
    clock = ManualClock(1_000_000, 5.0004)
    time = TraceTime(clock)
    seen = []
    for tenth in range(100):
        clock.seconds = 5.0004 + tenth / 10_000
        clock.wall_ms = 1_000_000 + (tenth + 4) // 10
        seen.append(time.now_us(time.ahead_us()))
    assert seen == sorted(seen)
    assert seen[-1] - seen[0] == 9900


def test_what_begins_after_the_clock_was_set_follows_it() -> None:
    clock = ManualClock(1_000_000, 5.0)
    time = TraceTime(clock)
    clock.wall_ms += 60_000
    assert time.now_us(time.ahead_us()) == 1_060_000_000
    clock.seconds += 0.001
    clock.wall_ms += 1
    assert time.now_us(time.ahead_us()) == 1_060_001_000


def test_what_had_begun_goes_on_by_the_time_that_passes() -> None:
    clock = ManualClock(2_000_000, 5.0)
    time = TraceTime(clock)
    begun = time.ahead_us()
    first = time.now_us(begun)
    clock.wall_ms -= 1_731_000
    clock.seconds += 0.25
    assert time.now_us(begun) - first == 250_000
