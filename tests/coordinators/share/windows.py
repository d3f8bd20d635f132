"""A window whose writes are made durable by hand, and what has to hold of every window."""

from collections import Counter

from attrs import define, field

from coordinators.share.acks import AckBatch
from coordinators.share.acquiring import Acquired, ReadSpan, ShareWanted, acquire
from coordinators.share.config import ShareGroupSettings
from coordinators.share.overlay import overlay
from coordinators.share.ports import UNCHANGED, DeliveryState, ShareChange, ShareState
from coordinators.share.runs import ACQUIRED, ARCHIVING, AVAILABLE, FINAL, SETTLED
from coordinators.share.window import Moment, ShareWindow

NOW_MS = 1_700_000_000_000


def rules(**values: object) -> ShareGroupSettings:
    """Kafka's defaults: no back-off, no dead letters."""
    plain: dict[str, object] = {"retry_backoff_ms": 0, "dead_letters_enabled": False, "max_in_flight": 100_000}
    return ShareGroupSettings(**plain | values)  # type: ignore[arg-type]


def applied(state: ShareState, change: ShareChange) -> ShareState:
    """What is durable after a write."""
    start = state.start_offset if change.start_offset == UNCHANGED else change.start_offset
    batches = overlay(state.batches, change.batches, start)
    return ShareState(1, 1, start, change.complete_count, batches)


@define(slots=False)
class Bench:
    """A window over a log of batches of ten, with a clock."""

    settings: ShareGroupSettings = field(factory=rules)
    log_end: int = 100
    batch: int = 10
    seconds: float = 0.0
    durable: ShareState = field(factory=lambda: ShareState(1, 1, 0))
    undelivered: set[int] = field(factory=set)
    """Batches, by their first offsets, that hold nothing."""

    def __attrs_post_init__(self) -> None:
        self.window = ShareWindow.load(self.durable)
        self.under_way: ShareChange | None = None

    @property
    def now(self) -> Moment:
        return Moment(self.seconds, NOW_MS + int(self.seconds * 1000))

    def spans(self, position: int, most: int = 10**9) -> list[ReadSpan]:
        first = position - position % self.batch
        bases = range(first, self.log_end, self.batch)
        return [
            ReadSpan(base, min(base + self.batch, self.log_end) - 1, base not in self.undelivered)
            for base in bases
            if base < position + most
        ]

    def take(
        self, member: str = "m1", most: int = 500, *, strict: bool = False, batch_size: int = 0
    ) -> list[tuple[int, int, int]]:
        position = self.window.next_position(self.settings.max_record_locks, self.now.wall_ms)
        if position is None or position >= self.log_end:
            return []
        wanted = ShareWanted(member, most, batch_size, strict)
        taken: list[Acquired] = acquire(self.window, self.spans(position), position, wanted, self.settings, self.now)
        check(self.window)
        return [tuple(each) for each in taken]  # type: ignore[misc]

    def ack(self, first: int, last: int, *types: int, member: str = "m1", backoff_ms: int | None = None) -> int | None:
        batch = AckBatch(first, last, types, backoff_ms)
        number = self.window.acknowledge(member, [batch], self.settings, self.now)
        check(self.window)
        return number

    def begin(self) -> ShareChange | None:
        assert self.under_way is None
        if self.window.has_news:
            _, self.under_way = self.window.begin_write()
        return self.under_way

    def end(self, *, failed: bool = False) -> None:
        assert self.under_way is not None
        if not failed:
            self.durable = applied(self.durable, self.under_way)
        self.under_way = None
        self.window.end_write(self.settings, self.now, failed=failed)
        check(self.window)

    def write(self, *, failed: bool = False) -> None:
        """Until there is nothing left to write."""
        if self.begin() is not None:
            self.end(failed=failed)

    def settle(self, first: int, last: int, *types: int, member: str = "m1") -> None:
        self.ack(first, last, *types, member=member)
        self.write()

    def expire(self) -> int:
        expired = self.window.expire_locks(self.settings, self.now)
        check(self.window)
        return expired

    def restart(self) -> None:
        self.under_way = None
        self.window = ShareWindow.load(self.durable)
        check(self.window)

    def states(self) -> list[tuple[int, int, DeliveryState, int]]:
        return [(run.first, run.last, run.state, run.count) for run in self.window.runs]


def check(window: ShareWindow) -> None:
    """The invariants at the head of `window.py`."""
    position = window.start
    available = complete = acquired = 0
    held: Counter[str] = Counter()
    for run in window.runs:
        assert run.first == position <= run.last, "invariant 1"
        position = run.last + 1
        if run.state is AVAILABLE:
            available += run.length
            assert not run.owner
        elif run.state is ACQUIRED:
            assert run.owner
            assert run.count >= 1, "invariant 3"
            assert run.lock_until > 0
            if run.write == SETTLED:
                acquired += run.length
                held[run.owner] += run.length
        if run.write != SETTLED:
            assert run.state in (ACQUIRED, ARCHIVING), "invariant 4"
        if run.state in FINAL:
            complete += run.length
    assert position == window.end, "invariant 1"
    head = window.runs.head
    assert head is None or head.state not in FINAL, "invariant 2"
    assert (available, complete, acquired) == (window.available, window.complete, window.acquired), "invariant 5"
    assert dict(held) == window.held, "invariant 5"
    check_schedule(window)


def check_schedule(window: ShareWindow) -> None:
    """Invariant 8, by walking the runs."""
    free = [run for run in window.runs if run.state is AVAILABLE]
    waits = [run for run in free if run.not_before_ms]
    locks = [run.lock_until for run in window.runs if run.state is ACQUIRED and run.write == SETTLED]
    assert window.schedule.waiting == sum(run.length for run in waits), "invariant 8"
    assert window.schedule.next_lock == min(locks, default=None), "invariant 8"
    assert window.schedule.next_wait_ms == min((run.not_before_ms for run in waits), default=None), "invariant 8"
    ready = window.schedule.first_ready(0)
    assert ready is next((run for run in free if not run.not_before_ms), None), "invariant 8"
