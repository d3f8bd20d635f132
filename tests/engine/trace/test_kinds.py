"""The events and the outcomes they lead to."""

from engine.trace.kinds import STANDINGS, EventKind, Outcome

SILENT = {EventKind.PUBLISH_PARTITIONED, EventKind.VISIBILITY_EXTENDED}


def test_every_event_but_the_silent_ones_has_an_outcome() -> None:
    assert set(STANDINGS) == set(EventKind) - SILENT


def test_every_outcome_is_reached() -> None:
    assert {standing.outcome for standing in STANDINGS.values()} == set(Outcome)


def test_events_are_named_by_part_and_happening() -> None:
    assert all(kind.value.count(".") == 1 for kind in EventKind)
