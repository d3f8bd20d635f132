"""What `tidegate.admin` gives and raises: plain values, the same whether the broker is asked in-process or over HTTP.

Times are wall time in milliseconds since 1970. Lanes count from 0, critical, to 4, background; whatever is told per
lane has five places.
"""

from attrs import frozen


class AdminError(Exception):
    """The broker refused, or could not be asked. `error` names the broker's own error, where it is one."""

    def __init__(self, message: str, error: str = "") -> None:
        super().__init__(message)
        self.error = error


class Unreachable(AdminError):
    """No answer came: whether something was changed is not known."""


class NotAllowed(AdminError):
    """The broker asks for a token, and was given none or a wrong one."""


class NoSuchTopic(AdminError):
    """There is no topic, or no partition, of this name."""


class NoSuchRecord(AdminError):
    """Nothing is pending under this id, nor is it remembered."""


class TooLate(AdminError):
    """The record has gone, is due, or is held by a transaction: it can be neither cancelled nor moved."""


ERRORS: dict[str, type[AdminError]] = {
    "UnknownTopicOrPartition": NoSuchTopic,
    "NoSuchRecord": NoSuchRecord,
    "TooLate": TooLate,
}


def admin_error(message: str, error: str) -> AdminError:
    """The exception for an error of the broker, by its name."""
    return ERRORS.get(error, AdminError)(message, error)


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
    state: str
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

    fate: str
    offset: int | None = None
    at_ms: int | None = None


@frozen
class DelayedRecord:
    """A record by its id: its fate, and while it is pending itself and its value."""

    topic: str
    partition: int
    id: str
    fate: str
    offset: int | None
    at_ms: int | None
    record: PendingRecord | None
    value: bytes | None


@frozen
class DueBucket:
    """So many records are due from one time (None: any before) until another (None: any after)."""

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
    """Of one topic, or of all if it has no name. `pending` and `next_due_ms` are of now, counts are since the broker
    started. `ready` are records in lanes, which wait for a reader; `pending_bytes` is the size of both."""

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
    """The lanes of one prioritised partition. Rates are records per second over the last minute; None stands for an
    empty lane's age, and for when a lane was served that never was."""

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
