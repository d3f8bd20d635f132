"""Runs: cut where something cuts through them, joined where they ended alike, written without what is acquired."""

from coordinators.share.ports import DeliveryState
from coordinators.share.runs import OffsetRun, OffsetRuns

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED = DeliveryState


def runs(*bounds: tuple[int, int, DeliveryState]) -> OffsetRuns:
    made = OffsetRuns()
    for first, last, state in bounds:
        made.append(OffsetRun(first, last, state))
    return made


def shape(made: OffsetRuns) -> list[tuple[int, int]]:
    return [(run.first, run.last) for run in made]


def test_a_run_is_cut_out_of_the_middle_of_another() -> None:
    made = runs((0, 9, ACQUIRED))
    part, besides = made.cut(made.at(5), 3, 6)
    assert shape(made) == [(0, 2), (3, 6), (7, 9)]
    assert (part.first, part.last) == (3, 6)
    assert [(run.first, run.last) for run in besides] == [(3, 6), (7, 9)]


def test_the_run_of_an_offset_is_found() -> None:
    made = runs((5, 9, ACQUIRED), (10, 10, AVAILABLE), (11, 20, ACQUIRED))
    assert [made.at(offset).first for offset in (5, 9, 10, 11, 20)] == [5, 5, 10, 11, 11]
    assert [run.first for run in made.within(9, 11)] == [5, 10, 11]
    assert [run.first for run in made.within(0, 5)] == [5]


def test_finished_neighbours_that_ended_alike_become_one() -> None:
    made = runs((0, 4, ACKNOWLEDGED), (5, 5, ACKNOWLEDGED), (6, 9, ACKNOWLEDGED), (10, 12, ARCHIVED))
    made.join(made.at(5))
    assert shape(made) == [(0, 9), (10, 12)]
    made.join(made.at(10))
    assert shape(made) == [(0, 9), (10, 12)]


def test_what_is_not_yet_durable_stays_by_itself() -> None:
    made = runs((0, 4, ACKNOWLEDGED), (5, 9, ACKNOWLEDGED))
    made.at(5).unwritten = True
    made.join(made.at(0))
    assert shape(made) == [(0, 4), (5, 9)]


def test_what_is_acquired_is_written_as_available_and_not_yet_delivered() -> None:
    """Written with its last delivery, it would be delivered once more after a restart, above the limit."""
    run = OffsetRun(0, 9, ACQUIRED, 2, "m1", 30.0, first_delivered_ms=1, last_delivered_ms=2)
    batch = run.as_written(run.state)
    assert (batch.state, batch.delivery_count, batch.member_id) == (AVAILABLE, 1, "")
    again = OffsetRun.of(batch)
    assert (again.state, again.count, again.owner, again.last_delivered_ms) == (AVAILABLE, 1, "", 2)
