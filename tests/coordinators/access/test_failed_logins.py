"""Failed logins in the log: the first of an address at once, the others as a number, and nobody fills it."""

import logging
from typing import Any

import pytest
from attrs import define, field

from coordinators.access.failed_logins import MOST_ADDRESSES, MOST_LINES, WINDOW_S, FailedLogins
from engine.clock import ManualClock
from engine.timers import Timers


@define
class Logged:
    """What was told, and the time that tells it."""

    caplog: pytest.LogCaptureFixture
    clock: ManualClock = field(factory=ManualClock)
    timers: Timers = field(factory=Timers)
    failed: FailedLogins = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.caplog.set_level(logging.WARNING, "tidegate.access")
        self.failed = FailedLogins(self.clock, self.timers)

    def guess(self, address: str = "10.0.0.7", times: int = 1) -> None:
        for _ in range(times):
            self.failed.note(address, "the password is wrong", "OUT", "PLAIN")

    def pass_window(self) -> None:
        self.clock.advance_ms(int(WINDOW_S * 1000))
        self.timers.run_due(self.clock.monotonic())

    def taken(self) -> list[tuple[str, Any, Any]]:
        """Event, address and number of each line since the last call."""
        records = list(self.caplog.records)
        self.caplog.clear()
        return [(each.getMessage(), getattr(each, "address", None), getattr(each, "failed", None)) for each in records]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Logged:
    return Logged(caplog)


def test_the_first_is_told_at_once_with_its_reason(logged: Logged) -> None:
    logged.guess("::ffff:10.0.0.7")
    assert logged.taken() == [("login failed: the password is wrong", "10.0.0.7", None)]
    logged.pass_window()
    assert logged.taken() == [], "there was no other"


def test_a_thousand_of_one_address_are_two_lines_and_none_is_missing(logged: Logged) -> None:
    logged.guess(times=1_000)
    logged.pass_window()
    assert [(address, number) for _, address, number in logged.taken()] == [("10.0.0.7", None), ("10.0.0.7", 999)]


def test_who_fills_the_log_hides_nobody(logged: Logged) -> None:
    logged.guess(times=1_000)
    logged.guess("10.0.0.8")
    assert ("login failed: the password is wrong", "10.0.0.8", None) in logged.taken()


def test_the_next_window_begins_with_the_next_failure(logged: Logged) -> None:
    logged.guess(times=2)
    logged.pass_window()
    logged.taken()
    logged.pass_window()
    logged.guess()
    assert len(logged.taken()) == 1


def test_of_many_addresses_the_busiest_have_a_line_each(logged: Logged) -> None:
    for number in range(MOST_LINES + 3):
        logged.guess(f"10.0.0.{number}", times=2 + number)
    logged.taken()
    logged.pass_window()
    told = logged.taken()
    assert [number for _, _, number in told] == [8, 7, 6, 5, 4, 3 + 2 + 1]
    assert told[-1][:2] == ("more logins failed from other addresses", None)


def test_so_many_addresses_are_told_apart_and_the_others_counted(logged: Logged) -> None:
    for number in range(MOST_ADDRESSES + 5):
        logged.guess(f"10.0.{number // 256}.{number % 256}")
    assert len(logged.taken()) == MOST_ADDRESSES
    logged.pass_window()
    assert logged.taken() == [("more logins failed from other addresses", None, 5)]
