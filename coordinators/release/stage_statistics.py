"""Figures about stages: what is pending, how late it was released, how the lanes of a prioritised partition fare.

All of it is counted as it happens; nothing here walks over what is pending.
"""

from collections.abc import Sequence

from coordinators.release.lookup import ahead_ms, due_wall_ms, is_delayed
from coordinators.release.pending_records import DelayStatistics, Lateness, PriorityStatistics
from coordinators.release.rates import LaneRates
from engine.partition.due_releases import LATENESS_BOUNDS_MS
from engine.partition.staging import Staging
from engine.stage.lanes import LANES
from engine.stage.stage import Stage
from engine.stage.state import HOLE


def delay_statistics(staging: Staging) -> DelayStatistics:
    """Of one stage."""
    state, counters, lateness = staging.stage.state, staging.stage.state.counters, staging.due.lateness
    return DelayStatistics(
        topic=None,
        pending=len(state.table) - len(state.lanes),
        ready=len(state.lanes),
        pending_bytes=state.table.bytes,
        next_due_ms=next_due_ms(staging.stage),
        staged=counters.staged,
        released=counters.released,
        expired=counters.expired,
        cancelled=counters.cancelled,
        replaced=counters.replaced,
        late_cancels=counters.cancelled_late,
        unknown_cancels=counters.cancelled_unknown,
        dead_letters_waiting=len(state.dead_letters),
        lateness=Lateness(LATENESS_BOUNDS_MS, tuple(lateness.counts), lateness.sum_ms),
    )


def together(topic: str | None, parts: Sequence[DelayStatistics]) -> DelayStatistics:
    """The sum over stages, or over topics."""
    dues = [each.next_due_ms for each in parts if each.next_due_ms is not None]
    counts = zip(*(each.lateness.counts for each in parts), strict=True)
    late = tuple(sum(each) for each in counts) or (0,) * (len(LATENESS_BOUNDS_MS) + 1)
    return DelayStatistics(
        topic=topic,
        next_due_ms=min(dues, default=None),
        lateness=Lateness(LATENESS_BOUNDS_MS, late, sum(each.lateness.sum_ms for each in parts)),
        **{name: sum(getattr(each, name) for each in parts) for name in _SUMMED},
    )


_SUMMED = (
    "pending",
    "ready",
    "pending_bytes",
    "staged",
    "released",
    "expired",
    "cancelled",
    "replaced",
    "late_cancels",
    "unknown_cancels",
    "dead_letters_waiting",
)


def next_due_ms(stage: Stage) -> int | None:
    """When the next record is due, by the wall clock. What was cancelled still lies in the wheels, and so do times of
    expiry: of the soonest entries the first one counts that a record waits for."""
    state = stage.state
    found: list[int] = []
    for wheel in (state.steady, state.wall):
        for due_ms, number in wheel.soonest():
            row = state.table.get(number)
            if row is not None and row.due_ms == due_ms and is_delayed(row):
                found.append(due_wall_ms(row, ahead_ms(stage)))
                break
    return min(found, default=None)


def priority_statistics(topic: str, staging: Staging, rates: LaneRates) -> PriorityStatistics:
    """The lanes of one partition."""
    stage = staging.stage
    lanes = stage.state.lanes.statistics(stage.clock.now_ms())
    ahead = ahead_ms(stage)
    enqueue_rate, dequeue_rate = rates.rates(staging)
    return PriorityStatistics(
        topic=topic,
        partition=staging.partition.index,
        ready=tuple(lane.ready for lane in lanes),
        in_flight=_in_flight(stage),
        enqueue_rate=enqueue_rate,
        dequeue_rate=dequeue_rate,
        oldest_age_ms=tuple(None if lane.oldest_age_ms < 0 else lane.oldest_age_ms for lane in lanes),
        last_served_ms=tuple(None if lane.last_served_ms < 0 else lane.last_served_ms + ahead for lane in lanes),
        starved_turns=tuple(lane.starved_turns for lane in lanes),
        enqueued=tuple(lane.enqueued for lane in lanes),
        dequeued=tuple(lane.dequeued for lane in lanes),
    )


def _in_flight(stage: Stage) -> tuple[int, ...]:
    counts = [0] * LANES
    for intent in stage.state.intents:
        for piece in intent.pieces:
            counts[piece.lane % HOLE] += piece.count
    return tuple(counts)
