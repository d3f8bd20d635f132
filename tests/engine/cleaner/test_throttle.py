"""Pacing: rest after work, an end when told."""

import pytest

from engine.cleaner.throttle import Stopped, Throttle
from engine.clock import ManualClock


def throttled(clock: ManualClock, rests: list[float], stopped: list[bool]) -> Throttle:
    return Throttle(clock.monotonic, rests.append, lambda: bool(stopped), work_s=0.005, rest_s=0.002)


def test_it_rests_after_each_stretch_of_work() -> None:
    clock, rests = ManualClock(), []
    throttle = throttled(clock, rests, [])
    for _ in range(10):
        clock.advance_ms(1)
        throttle.step()
    assert rests == [0.002, 0.002]


def test_it_does_not_rest_before() -> None:
    clock, rests = ManualClock(), []
    throttle = throttled(clock, rests, [])
    for _ in range(100):
        throttle.step()
    assert rests == []


def test_work_that_is_no_longer_wanted_ends() -> None:
    clock, stopped = ManualClock(), []
    throttle = throttled(clock, [], stopped)
    clock.advance_ms(5)
    throttle.step()
    stopped.append(True)
    clock.advance_ms(5)
    with pytest.raises(Stopped):
        throttle.step()
