"""Clocks: the real one moves by itself, the manual one when told."""

from pathlib import Path

from engine.clock import ManualClock, SystemClock


def test_the_system_clock_gives_epoch_milliseconds_and_never_goes_back() -> None:
    clock = SystemClock()
    assert 1_600_000_000_000 < clock.now_ms() < 10_000_000_000_000
    assert clock.monotonic() <= clock.monotonic()


def test_a_manual_clock_stands_until_it_is_moved() -> None:
    clock = ManualClock(1000, 5.0)
    assert (clock.now_ms(), clock.monotonic()) == (1000, 5.0)
    clock.advance_ms(1500)
    assert (clock.now_ms(), clock.monotonic()) == (2500, 6.5)


def test_clocks_of_one_boot_have_its_name() -> None:
    """On Linux; elsewhere it is not known."""
    first, second = SystemClock().boot, SystemClock().boot
    assert first == second
    assert bool(first) == Path("/proc/sys/kernel/random/boot_id").exists()
    assert ManualClock().boot == ""
