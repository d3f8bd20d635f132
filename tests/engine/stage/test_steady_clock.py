"""Steady time: setting the machine's clock does not touch it."""

import pytest

from engine.clock import ManualClock
from engine.stage.steady_clock import SteadyClock


def test_it_runs_with_real_time_whatever_the_wall_clock_does() -> None:
    clock = ManualClock()
    steady = SteadyClock(clock)
    began = steady.now_ms()
    assert began == clock.wall_ms
    clock.wall_ms += 3_600_000
    assert steady.now_ms() == began
    clock.advance_ms(250)
    assert steady.now_ms() == began + 250
    clock.wall_ms -= 7_200_000
    assert steady.now_ms() == began + 250
    assert steady.wall_ms() == clock.wall_ms


def test_a_step_is_told_until_it_is_known() -> None:
    clock = ManualClock()
    steady = SteadyClock(clock)
    assert steady.stepped(0) is None
    clock.wall_ms += 5_000
    assert steady.stepped(0) == 5_000
    assert steady.stepped(0) == 5_000
    assert steady.stepped(5_000) is None
    clock.wall_ms += 10
    assert steady.stepped(5_000) is None


def test_after_a_restart_it_goes_on_as_if_the_clock_had_not_been_set() -> None:
    clock = ManualClock()
    steady = SteadyClock(clock)
    clock.wall_ms += 86_400_000
    ahead_ms = steady.stepped(0)
    assert ahead_ms is not None
    before = steady.now_ms()
    restarted = ManualClock(wall_ms=clock.wall_ms + 10, seconds=0.0)
    assert SteadyClock(restarted, ahead_ms).now_ms() == before + 10


def test_after_a_restart_in_the_same_boot_it_goes_on_though_the_clock_was_set_meanwhile() -> None:
    clock = ManualClock(seconds=1_000.0001, boot="b00t")
    steady = SteadyClock(clock)
    before, anchor = steady.now_ms(), steady.anchor
    clock.advance_ms(9_000)
    clock.wall_ms += 16_000
    restarted = SteadyClock(clock, 0, anchor)
    assert restarted.now_ms() == before + 9_000
    assert restarted.anchor == anchor
    assert restarted.stepped(0) == 16_000


@pytest.mark.parametrize("boot", ["", "another"])
def test_in_another_boot_or_an_unknown_one_it_goes_by_the_wall_clock(boot: str) -> None:
    steady = SteadyClock(ManualClock(seconds=1_000, boot="b00t"))
    clock = ManualClock(steady.wall_ms() + 5_000, boot=boot)
    restarted = SteadyClock(clock, 0, steady.anchor)
    assert restarted.now_ms() == clock.wall_ms
    assert restarted.anchor == ((boot, clock.wall_ms * 1000) if boot else None)


def test_rounded_up_it_is_never_behind() -> None:
    clock = ManualClock()
    steady = SteadyClock(clock)
    assert steady.ceiling_ms() == steady.now_ms()
    clock.seconds += 0.0004
    assert steady.ceiling_ms() == steady.now_ms() + 1
