"""Microseconds from a clock of milliseconds."""

from coordinators.tracing.trace_time import TraceTime
from engine.clock import ManualClock


def test_it_counts_microseconds() -> None:
    clock = ManualClock(1_000_000, 5.0)
    time = TraceTime(clock)
    assert time.now_us() == 1_000_000_000
    clock.seconds += 0.000250
    assert time.now_us() == 1_000_000_250


def test_it_does_not_go_back_while_the_wall_clock_ticks() -> None:
    clock = ManualClock(1_000_000, 5.0004)
    time = TraceTime(clock)
    seen = []
    for tenth in range(100):
        clock.seconds = 5.0004 + tenth / 10_000
        clock.wall_ms = 1_000_000 + (tenth + 4) // 10
        seen.append(time.now_us())
    assert seen == sorted(seen)
    assert seen[-1] - seen[0] == 9900


def test_it_follows_a_clock_that_is_set() -> None:
    clock = ManualClock(1_000_000, 5.0)
    time = TraceTime(clock)
    clock.wall_ms += 60_000
    assert time.now_us() == 1_060_000_000
    clock.seconds += 0.001
    clock.wall_ms += 1
    assert time.now_us() == 1_060_001_000
