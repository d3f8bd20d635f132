"""The trace of one record: who sent it, where it lies, and what has happened to it so far."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from attrs import define, field

from engine.trace.context import TraceContext
from engine.trace.kinds import STANDINGS, EventKind, Outcome

KEY_MAX_BYTES = 256

Attributes = Mapping[str, Any]
NO_ATTRIBUTES: Attributes = {}


class SampledBy(StrEnum):
    """Why a record is traced."""

    TRACEPARENT = "traceparent"
    RATE = "rate"
    RATIO = "ratio"


class TraceEvent(NamedTuple):
    """Something that happened to a record, in microseconds since the epoch."""

    kind: EventKind
    time_us: int
    attributes: Attributes


@define(eq=False)
class RecordTrace:
    """One record's. `span_id` is the broker's first span: its children hang there if the producer has no span.

    `number` is the record's place in the stage, before it has an offset. A place in the log is also known by its
    segment and by where its batch ends there, so that whether an answer holds it is a comparison of numbers.
    """

    trace_id: str
    parent_id: str | None
    span_id: str
    sampled_by: SampledBy
    topic: str
    partition: int
    state: str = ""
    key: bytes | None = field(default=None, init=False)
    key_size: int = field(default=-1, init=False)
    offset: int | None = None
    number: int | None = field(default=None, init=False)
    segment: int = field(default=0, init=False)
    end_position: int = field(default=0, init=False)
    outcome: Outcome = field(default=Outcome.RECEIVED, init=False)
    events: list[TraceEvent] = field(factory=list, init=False)
    dropped_events: int = field(default=0, init=False)
    sequence: int = field(default=-1, init=False)
    # How far wall time was ahead of steady time when it began: its events are counted from there.
    ahead_us: int = field(default=0, init=False)
    # Its unchanging part as JSON, once somebody has needed it.
    json_part: str = field(default="", init=False)
    _rank: int = field(default=-1, init=False)

    @property
    def start_us(self) -> int:
        """When its first event was."""
        return self.events[0].time_us if self.events else 0

    @property
    def end_us(self) -> int:
        """When its last event was, so far."""
        return self.events[-1].time_us if self.events else 0

    @property
    def duration_us(self) -> int:
        """From the first event to the last."""
        return self.end_us - self.start_us

    @property
    def groups(self) -> set[str]:
        """The groups that are known to have had it."""
        return {event.attributes["group"] for event in self.events if event.attributes.get("group") is not None}

    def add(self, event: TraceEvent, at_most: int) -> bool:
        """Note an event; beyond `at_most` it is only counted. Whether it was kept."""
        standing = STANDINGS.get(event.kind)
        if standing is not None and standing.rank >= self._rank:
            self._rank, self.outcome = standing
        if len(self.events) >= at_most:
            self.dropped_events += 1
            return False
        self.events.append(event)
        return True

    def last(self, kind: EventKind) -> TraceEvent | None:
        """Its latest event of a kind."""
        return next((event for event in reversed(self.events) if event.kind is kind), None)

    def may_be_committed_by(self, group: str) -> bool:
        """Whether somebody fetched it who is a member of the group, or may be."""
        fetched = (event for event in self.events if event.kind is EventKind.CONSUME_FETCHED)
        return any(event.attributes.get("group") in (group, None) for event in fetched)


def begin_trace(
    context: TraceContext | None, new_id: str, span_id: str, sampled_by: SampledBy, topic: str, partition: int
) -> RecordTrace:
    """A trace of the producer's context, or of its own (`new_id`) where there is none."""
    if context is None:
        return RecordTrace(new_id, None, span_id, sampled_by, topic, partition)
    return RecordTrace(context.trace_id, context.parent_id, span_id, sampled_by, topic, partition, state=context.state)
