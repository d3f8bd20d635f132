"""The events of a record's life, and what each makes of it.

The outcome of a trace is that of its event of highest rank: a record that one group has committed stays committed
when another fetches it. Among events of one rank the last counts.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class EventKind(StrEnum):
    """By the names that users see."""

    PUBLISH_RECEIVED = "publish.received"
    PUBLISH_PARTITIONED = "publish.partitioned"
    PUBLISH_PERSISTED = "publish.persisted"
    PUBLISH_FAILED = "publish.failed"
    DELAY_SCHEDULED = "delay.scheduled"
    DELAY_READY = "delay.ready"
    DELAY_CANCELLED = "delay.cancelled"
    DELAY_EXPIRED = "delay.expired"
    PRIORITY_QUEUED = "priority.queued"
    PRIORITY_RELEASED = "priority.released"
    CONSUME_FETCHED = "consume.fetched"
    CONSUME_COMMITTED = "consume.committed"
    CONSUME_ACKED = "consume.acked"
    CONSUME_NACKED = "consume.nacked"
    CONSUME_REJECTED = "consume.rejected"
    VISIBILITY_TIMEOUT = "visibility.timeout"
    VISIBILITY_EXTENDED = "visibility.extended"
    DLQ_ROUTED = "dlq.routed"


class Outcome(StrEnum):
    """How far a record has come."""

    RECEIVED = "received"
    STORED = "stored"
    DELAYED = "delayed"
    QUEUED = "queued"
    READY = "ready"
    RELEASED = "released"
    FETCHED = "fetched"
    RETURNED = "returned"
    COMMITTED = "committed"
    ACKED = "acked"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REJECTED = "rejected"
    DEAD_LETTERED = "dead-lettered"
    FAILED = "failed"


ENDED_ELSEWHERE: Final = frozenset({Outcome.CANCELLED, Outcome.EXPIRED, Outcome.DEAD_LETTERED, Outcome.FAILED})
"""A record that came no further than the stage does not get into the log any more."""


class Standing(NamedTuple):
    """An outcome and its rank."""

    rank: int
    outcome: Outcome


# What is not here (partitioned, extended) changes nothing.
STANDINGS: Final[dict[EventKind, Standing]] = {
    EventKind.PUBLISH_RECEIVED: Standing(0, Outcome.RECEIVED),
    EventKind.PUBLISH_PERSISTED: Standing(1, Outcome.STORED),
    EventKind.DELAY_SCHEDULED: Standing(2, Outcome.DELAYED),
    EventKind.DELAY_READY: Standing(3, Outcome.READY),
    EventKind.PRIORITY_QUEUED: Standing(4, Outcome.QUEUED),
    EventKind.PRIORITY_RELEASED: Standing(5, Outcome.RELEASED),
    EventKind.CONSUME_FETCHED: Standing(6, Outcome.FETCHED),
    EventKind.CONSUME_NACKED: Standing(7, Outcome.RETURNED),
    EventKind.VISIBILITY_TIMEOUT: Standing(7, Outcome.RETURNED),
    EventKind.CONSUME_COMMITTED: Standing(8, Outcome.COMMITTED),
    EventKind.CONSUME_ACKED: Standing(8, Outcome.ACKED),
    EventKind.CONSUME_REJECTED: Standing(9, Outcome.REJECTED),
    EventKind.DELAY_CANCELLED: Standing(9, Outcome.CANCELLED),
    EventKind.DELAY_EXPIRED: Standing(9, Outcome.EXPIRED),
    EventKind.DLQ_ROUTED: Standing(10, Outcome.DEAD_LETTERED),
    EventKind.PUBLISH_FAILED: Standing(10, Outcome.FAILED),
}
