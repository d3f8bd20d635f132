"""The trace of one record: outcome, bounds, groups."""

from engine.trace.context import TraceContext
from engine.trace.kinds import EventKind, Outcome
from engine.trace.record_trace import SampledBy, TraceEvent, begin_trace
from tests.engine.trace.traces import PARENT_ID, TRACE_ID, add, trace


def test_the_outcome_follows_the_record() -> None:
    made = trace()
    assert made.outcome is Outcome.RECEIVED
    for kind, outcome in (
        (EventKind.PUBLISH_PERSISTED, Outcome.STORED),
        (EventKind.CONSUME_FETCHED, Outcome.FETCHED),
        (EventKind.CONSUME_COMMITTED, Outcome.COMMITTED),
        (EventKind.CONSUME_FETCHED, Outcome.COMMITTED),
    ):
        add(made, kind, 10)
        assert made.outcome is outcome


def test_a_record_that_is_persisted_in_the_stage_is_still_delayed() -> None:
    made = trace(offset=None)
    add(made, EventKind.DELAY_SCHEDULED, 1)
    add(made, EventKind.PUBLISH_PERSISTED, 2)
    assert made.outcome is Outcome.DELAYED


def test_events_beyond_the_bound_are_counted_and_still_decide_the_outcome() -> None:
    made = trace()
    kept = [made.add(TraceEvent(EventKind.CONSUME_FETCHED, made.start_us + 1, {}), 3) for _ in range(4)]
    assert kept == [True, True, False, False]
    assert not made.add(TraceEvent(EventKind.CONSUME_COMMITTED, made.start_us + 2, {}), 3)
    assert (len(made.events), made.dropped_events, made.outcome) == (3, 3, Outcome.COMMITTED)


def test_groups_and_who_may_commit() -> None:
    made = trace()
    assert not made.may_be_committed_by("kitchen"), "nobody has fetched it"
    add(made, EventKind.CONSUME_FETCHED, 5, group="bar")
    assert not made.may_be_committed_by("kitchen")
    add(made, EventKind.CONSUME_FETCHED, 6, group=None)
    assert made.may_be_committed_by("kitchen")
    assert made.groups == {"bar"}


def test_the_last_of_a_kind() -> None:
    made = trace()
    add(made, EventKind.CONSUME_FETCHED, 5)
    add(made, EventKind.CONSUME_FETCHED, 9)
    found = made.last(EventKind.CONSUME_FETCHED)
    assert found is not None
    assert found.time_us == made.start_us + 9
    assert made.last(EventKind.DELAY_READY) is None
    assert made.duration_us == 9


def test_a_trace_of_the_producers_context_or_of_its_own() -> None:
    context = TraceContext(TRACE_ID, PARENT_ID, True, "a=b")
    given = begin_trace(context, "unused", "s", SampledBy.TRACEPARENT, "t", 1)
    assert (given.trace_id, given.parent_id, given.state) == (TRACE_ID, PARENT_ID, "a=b")
    own = begin_trace(None, "new", "s", SampledBy.RATE, "t", 1)
    assert (own.trace_id, own.parent_id) == ("new", None)
