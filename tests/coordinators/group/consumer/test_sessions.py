"""Deadlines of members."""

from typing import Any

import pytest

from coordinators.group.consumer.sessions import ConsumerSessions
from coordinators.state_machine import ShardTimers, Verdict
from engine.clock import ManualClock
from engine.timers import Timers


class Desk:
    """Sessions, and what they told."""

    def __init__(self) -> None:
        self.clock, self.timers = ManualClock(), Timers()
        self.told: list[tuple[Any, ...]] = []
        shard_timers: ShardTimers[Any] = ShardTimers(self.timers, self.clock, lambda operation: operation(None))
        self.sessions = ConsumerSessions(self.clock, shard_timers, self._tell, self._tell)

    def _tell(self, *what: Any) -> Verdict:
        self.told.append(what)
        return Verdict()

    def advance(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.timers.run_due(self.clock.monotonic())


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_session_ends_when_nothing_was_heard(desk: Desk) -> None:
    desk.sessions.touch("g", "a", 1_000)
    desk.advance(900)
    desk.sessions.touch("g", "a", 1_000)
    desk.advance(900)
    assert (desk.told, len(desk.sessions)) == ([], 1)
    desk.advance(200)
    assert (desk.told, len(desk.sessions)) == ([("g", "a")], 0)


def test_a_member_that_is_gone_is_not_waited_for(desk: Desk) -> None:
    desk.sessions.touch("g", "a", 1_000)
    desk.sessions.expect_revocation("g", "a", 3, 500)
    desk.sessions.forget("g", "a")
    desk.advance(5_000)
    assert (desk.told, len(desk.sessions)) == ([], 0)


def test_who_does_not_give_back_in_time_is_told_of_with_its_epoch(desk: Desk) -> None:
    desk.sessions.expect_revocation("g", "a", 3, 500)
    desk.sessions.expect_revocation("g", "b", 4, 500)
    desk.sessions.revoked("g", "b")
    assert (desk.sessions.is_expected("g", "a"), desk.sessions.is_expected("g", "b")) == (True, False)
    desk.advance(501)
    assert desk.told == [("g", "a", 3)]
    assert not desk.sessions.is_expected("g", "a")
