"""What is told of records that wait: one family of values for every way to ask.

The coordinators make them. A program that embeds a broker gets them as they are; the operations door writes them as
JSON (`wire/http/pending.py`), and `tidegate.admin` reads that JSON back into the same values. This module imports
nothing of ours, because a program that asks a broker elsewhere loads it alone (`tidegate/_path.py`).

Times are wall time in milliseconds since 1970. Lanes count from 0, critical, to 4, background; whatever is told per
lane has five places.
"""

from typing import Literal, TypeAlias

from attrs import frozen

StateName: TypeAlias = Literal["waiting", "held", "ready", "releasing"]
FateName: TypeAlias = Literal["PENDING", "DELIVERED", "CANCELLED", "EXPIRED", "UNKNOWN"]


@frozen
class Header:
    """A record's header."""

    name: str
    value: bytes | None


@frozen
class PendingRecord:
    """A staged record without its value. `id` is its schedule id, or `#` and its number. `state`: `waiting` for its
    time, `held` by a transaction, `ready` in a lane, or `releasing`."""

    partition: int
    id: str
    number: int
    state: StateName
    due_ms: int
    created_ms: int
    expires_ms: int | None
    ttl_ms: int | None
    lane: int
    size_bytes: int
    key: bytes | None
    headers: tuple[Header, ...]


@frozen
class PendingPage:
    """Some of `total` records; the next ones begin at `next_skip`, None if there are no more."""

    records: tuple[PendingRecord, ...]
    total: int
    next_skip: int | None


@frozen
class Fate:
    """What became of a record: PENDING, DELIVERED (with its offset), CANCELLED, EXPIRED or UNKNOWN, and when."""

    fate: FateName
    offset: int | None = None
    at_ms: int | None = None


@frozen
class DelayedRecord:
    """A record by its id: its fate, and while it is pending itself and its value."""

    topic: str
    partition: int
    id: str
    fate: FateName
    offset: int | None = None
    at_ms: int | None = None
    record: PendingRecord | None = None
    value: bytes | None = None


@frozen
class DueBucket:
    """How many records are due from one time (None: any before) until another (None: any after)."""

    from_ms: int | None
    until_ms: int | None
    records: int


@frozen
class Lateness:
    """How many delayed records were released how late: `counts[i]` at most `bounds_ms[i]`, the last beyond all."""

    bounds_ms: tuple[int, ...]
    counts: tuple[int, ...]
    sum_ms: int


@frozen
class DelayStatistics:
    """Of one topic, or of all if it has no name. Counts are since the broker started, `pending` is of now.

    `pending` are the staged records that are in no lane; those of open transactions count, and those on their way to a
    dead-letter topic. `next_due_ms` is when the next of them is due. `ready` are records in lanes, which wait for a
    reader. `pending_bytes` is the size of both, which `stage.max.bytes` bounds.
    """

    topic: str | None
    pending: int
    ready: int
    pending_bytes: int
    next_due_ms: int | None
    staged: int
    released: int
    expired: int
    cancelled: int
    replaced: int
    late_cancels: int
    unknown_cancels: int
    dead_letters_waiting: int
    lateness: Lateness


@frozen
class DelayReport:
    """All topics together, and each that has a stage, by name."""

    all: DelayStatistics
    topics: tuple[DelayStatistics, ...]


@frozen
class PriorityStatistics:
    """The lanes of one prioritised partition, critical first.

    `in_flight` are records that a reader made go to the log and that cannot be read yet. Rates are records per second
    over the last minute. `last_served_ms` is None for a lane that was never served, `oldest_age_ms` for an empty one.
    """

    topic: str
    partition: int
    ready: tuple[int, ...]
    in_flight: tuple[int, ...]
    enqueue_rate: tuple[float, ...]
    dequeue_rate: tuple[float, ...]
    oldest_age_ms: tuple[int | None, ...]
    last_served_ms: tuple[int | None, ...]
    starved_turns: tuple[int, ...]
    enqueued: tuple[int, ...]
    dequeued: tuple[int, ...]
