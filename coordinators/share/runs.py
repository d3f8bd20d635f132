"""Runs: neighbouring offsets of a share partition that have everything in common, kept once for all of them.

A window of 2000 offsets is one run while it is one member's and was given at one time; it is split where an
acknowledgement, a hand-out or an end of the log's past cuts through it, and nowhere else.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from coordinators.share.ports import DeliveryState, StateBatch

AVAILABLE, ACQUIRED = DeliveryState.AVAILABLE, DeliveryState.ACQUIRED
ARCHIVING, ARCHIVED = DeliveryState.ARCHIVING, DeliveryState.ARCHIVED
FINAL = (DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)

SETTLED = 0
"""The number of no write: whoever waits for none."""

_first_of = attrgetter("first")


class OffsetRun(Struct, eq=False, gc=False):
    """See the module. What waits for a write is still what it was, and has a target."""

    first: int
    last: int
    state: DeliveryState
    count: int = 0
    """How often it was delivered."""
    owner: str = ""
    """The member that has it, where it is acquired; that had it last, where it is being archived."""
    lock_until: float = 0.0
    not_before_ms: int = 0
    first_delivered_ms: int = 0
    last_delivered_ms: int = 0
    reason: str = ""
    target: DeliveryState = AVAILABLE
    write: int = SETTLED
    """The number of the write that its change waits for."""
    unwritten: bool = False
    """Whether it has changed already, and nothing durable says so yet."""

    @property
    def length(self) -> int:
        """How many offsets it has."""
        return self.last - self.first + 1

    @property
    def is_final(self) -> bool:
        """Whether nothing will ever happen to it again."""
        return self.state in FINAL

    def is_ready(self, now_ms: int) -> bool:
        """Whether it can be handed out."""
        return self.state is AVAILABLE and self.not_before_ms <= now_ms and self.write == SETTLED

    def as_written(self, state: DeliveryState) -> StateBatch:
        """What of it is durable; what is acquired is available after a restart, and that delivery does not count: the
        last one that is allowed would otherwise be followed by another."""
        durable = AVAILABLE if state is ACQUIRED else state
        is_letter = durable is ARCHIVING
        return StateBatch(
            self.first,
            self.last,
            durable,
            self.count - 1 if state is ACQUIRED else self.count,
            self.not_before_ms if durable is AVAILABLE else 0,
            self.first_delivered_ms,
            self.last_delivered_ms,
            self.reason if is_letter else "",
            self.owner if is_letter else "",
        )

    @classmethod
    def of(cls, batch: StateBatch) -> "OffsetRun":
        """As it was written."""
        state = AVAILABLE if batch.state is ACQUIRED else batch.state
        return cls(
            batch.first_offset,
            batch.last_offset,
            state,
            batch.delivery_count,
            batch.member_id,
            not_before_ms=batch.not_before_ms,
            first_delivered_ms=batch.first_delivered_ms,
            last_delivered_ms=batch.last_delivered_ms,
            reason=batch.reason,
        )


class OffsetRuns:
    """The runs of a window, in order and without gaps between them."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[OffsetRun] = []

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[OffsetRun]:
        return iter(self._runs)

    @property
    def head(self) -> OffsetRun | None:
        """The first."""
        return self._runs[0] if self._runs else None

    def append(self, run: OffsetRun) -> None:
        """At the end."""
        assert not self._runs or self._runs[-1].last + 1 == run.first, "invariant 1: runs have no gaps"
        self._runs.append(run)

    def drop_head(self) -> None:
        """The window has passed it."""
        del self._runs[0]

    def number_of(self, offset: int) -> int:
        """Which run holds this offset; it must lie in the window."""
        return bisect_right(self._runs, offset, key=_first_of) - 1

    def at(self, offset: int) -> OffsetRun:
        """The run that holds this offset; it must lie in the window."""
        return self._runs[self.number_of(offset)]

    def within(self, first: int, last: int) -> list[OffsetRun]:
        """Those that have an offset in [first, last], in order; they may reach beyond."""
        runs = self._runs
        number = max(self.number_of(first), 0)
        found: list[OffsetRun] = []
        while number < len(runs) and runs[number].first <= last:
            if runs[number].last >= first:
                found.append(runs[number])
            number += 1
        return found

    def cut(self, run: OffsetRun, first: int, last: int) -> tuple[OffsetRun, list[OffsetRun]]:
        """A run that is exactly [first, last], out of one that holds it; and those that were made besides."""
        assert run.first <= first <= last <= run.last, "a run is cut within itself"
        made: list[OffsetRun] = []
        number = self.number_of(run.first)
        if first > run.first:
            middle = replace(run, first=first)
            run.last = first - 1
            self._runs.insert(number + 1, middle)
            made.append(middle)
            run, number = middle, number + 1
        if last < run.last:
            rest = replace(run, first=last + 1)
            run.last = last
            self._runs.insert(number + 1, rest)
            made.append(rest)
        return run, made

    def join(self, run: OffsetRun) -> None:
        """Make one of a finished run and the finished neighbours that ended in the same way."""
        number = self.number_of(run.first)
        runs = self._runs
        if number + 1 < len(runs) and _are_alike(run, runs[number + 1]):
            run.last = runs[number + 1].last
            del runs[number + 1]
        if number > 0 and _are_alike(runs[number - 1], run):
            runs[number - 1].last = run.last
            del runs[number]


def _are_alike(one: OffsetRun, other: OffsetRun) -> bool:
    return (
        one.is_final
        and one.state is other.state
        and not (one.unwritten or other.unwritten)
        and one.write == other.write == SETTLED
    )
