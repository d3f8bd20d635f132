"""Whoever waits for several things is told once, when the last has come, and of the first error."""

from coordinators.release.countdown import Countdown
from engine.errors import BrokerError, StorageError


def test_it_calls_back_when_the_last_has_come() -> None:
    told: list[BrokerError | None] = []
    waiting = Countdown(told.append)
    waiting.add()
    waiting.one_done(None)
    assert told == []
    waiting.one_done(None)
    assert told == [None]


def test_the_first_error_is_told() -> None:
    told: list[BrokerError | None] = []
    waiting = Countdown(told.append)
    waiting.add()
    first = StorageError("first")
    waiting.failed(first)
    waiting.one_done(StorageError("second"))
    waiting.one_done(None)
    assert told == [first]
