"""Waiting for a commit."""

from engine.catalogue.watch import CommitSignal


def test_a_revision_already_passed_is_not_waited_for() -> None:
    assert CommitSignal(5).wait_past(4, lambda: False, 60) == 5


def test_waiting_ends_when_its_time_is_up() -> None:
    assert CommitSignal(5).wait_past(5, lambda: False, 0) == 5


def test_waiting_ends_with_the_watch() -> None:
    assert CommitSignal(5).wait_past(5, lambda: True, 60) == 5
