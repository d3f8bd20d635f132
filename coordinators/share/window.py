"""The window of a share partition: every offset that is neither finished nor still to be looked at, without I/O.

It begins at the first offset that is not finished (Kafka's SPSO) and ends behind the last one that was handed out
(SPEO). What happens to offsets happens in three ways. A hand-out changes memory alone: what is acquired is available
again after a restart. An acknowledgement is a *pending* change: the offsets stay what they were, out of everybody's
reach, until a write is durable, and come back if it fails. What the broker does by itself (a lock that ran out, a
member that is gone, offsets that hold no record) is in force at once and written with whatever is written next.

Writes are numbered. One is under way at a time; changes that come meanwhile gather for the next.

Invariants, cited by asserts:
1. Runs are in order, without gaps and without overlaps; together they are exactly [start, end).
2. The first run is not finished: the start never waits for what is.
3. An acquired run has an owner, a lock and a count of at least one; no other run has a lock.
4. A run that waits for a write is acquired or archiving, and nobody else changes it meanwhile.
5. `available`, `complete` and the members' `held` are the sums of what the runs say.
6. Nothing is delivered more often than the limit that was in force when it was delivered.
7. All changes of one acknowledgement belong to one write; either all of them are in force or none.
8. The schedule has a true entry for every run that is available or acquired, unless that waits for a write, and counts
   those that are in back-off.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from coordinators.share.acks import AckBatch, AckType
from coordinators.share.config import ShareGroupSettings
from coordinators.share.counters import ShareCounters
from coordinators.share.ports import (
    EXHAUSTED,
    EXPIRED,
    REJECTED,
    UNCHANGED,
    DeliveryState,
    ShareChange,
    ShareState,
    StateBatch,
)
from coordinators.share.runs import ACQUIRED, ARCHIVED, ARCHIVING, AVAILABLE, FINAL, SETTLED, OffsetRun, OffsetRuns
from coordinators.share.schedule import Schedule
from engine.errors import InvalidRecordState, InvalidRequest

Piece = tuple[OffsetRun, int, int, AckType, int | None]
Offsets = tuple[int, int]
"""The first and the last."""


class Moment(NamedTuple):
    """A point in time by both clocks."""

    monotonic: float
    wall_ms: int


class ShareWindow:
    """See the module. `held` counts what each member of the group has, over the partitions that share it."""

    def __init__(self, start: int, counters: ShareCounters | None = None, held: dict[str, int] | None = None) -> None:
        self.start = start
        self.end = start
        self.runs = OffsetRuns()
        self.available = 0
        self.complete = 0
        """Finished offsets at or above the start."""
        self.counters = ShareCounters() if counters is None else counters
        self.held = {} if held is None else held
        self.acquired = 0
        self.schedule = Schedule()
        self.letters: list[OffsetRun] = []
        """What became a dead letter, durably, since somebody last asked."""
        self._written_start = start
        self._start_before_write = start
        self._gathering = SETTLED + 1
        self._writing: list[OffsetRun] | None = None
        self._changed: list[OffsetRun] = []
        self._must_write = False

    @classmethod
    def load(
        cls, state: ShareState, counters: ShareCounters | None = None, held: dict[str, int] | None = None
    ) -> "ShareWindow":
        """As it was when it was last written."""
        window = cls(state.start_offset, counters, held)
        for batch in state.batches:
            if batch.last_offset < window.end:
                continue
            if batch.first_offset > window.end:
                # Nobody has told anything of these: they were acquired, or passed over.
                window._enter(OffsetRun(window.end, batch.first_offset - 1, AVAILABLE))
            run = OffsetRun.of(batch)
            run.first = max(run.first, window.end)
            window._enter(run)
            if run.state is ARCHIVING:
                window.letters.append(run)
        window.advance()
        return window

    def _enter(self, run: OffsetRun) -> None:
        self.runs.append(run)
        self.end = run.last + 1
        self._count(run, 1)

    def _count(self, run: OffsetRun, sign: int) -> None:
        if run.state is AVAILABLE:
            self.available += sign * run.length
            if run.not_before_ms:
                self.schedule.waiting += sign * run.length
            if sign > 0:
                self.schedule.enter(run)
        elif run.is_final:
            self.complete += sign * run.length

    # -- where to read on

    @property
    def in_flight(self) -> int:
        """Offsets from the start to the end: what the limit counts, finished ones among them too."""
        return self.end - self.start

    def next_position(self, max_locks: int, now_ms: int) -> int | None:
        """The first offset that can be handed out; None if there is none and there may be no further ones."""
        ready = self.schedule.first_ready(now_ms) if self.available else None
        if ready is not None:
            return ready.first
        return self.end if self.in_flight < max_locks else None

    # -- handing out; what is decided about it stands in `acquiring.py`

    def give(self, run: OffsetRun, first: int, last: int, member_id: str, lock_until: float, now_ms: int) -> OffsetRun:
        """A part of an available run is a member's from now on."""
        assert run.is_ready(now_ms), "invariant 4: nobody changes what is not available"
        run = self._cut(run, first, last)
        self._count(run, -1)
        self._acquire(run, member_id, lock_until, now_ms)
        return run

    def give_new(self, last: int, member_id: str, lock_until: float, now_ms: int) -> OffsetRun:
        """The window grows up to `last`, by offsets that are this member's."""
        run = OffsetRun(self.end, last, AVAILABLE)
        self.runs.append(run)
        self.end = last + 1
        self._acquire(run, member_id, lock_until, now_ms)
        return run

    def _acquire(self, run: OffsetRun, member_id: str, lock_until: float, now_ms: int) -> None:
        run.state, run.owner, run.lock_until = ACQUIRED, member_id, lock_until
        run.count += 1
        run.not_before_ms, run.last_delivered_ms = 0, now_ms
        if not run.first_delivered_ms:
            run.first_delivered_ms = now_ms
        self._hold(run, 1)
        self.schedule.enter(run)
        self.counters.delivered(run.count, run.length)

    def _hold(self, run: OffsetRun, sign: int) -> None:
        self.acquired += sign * run.length
        held = self.held.get(run.owner, 0) + sign * run.length
        assert held >= 0, "invariant 5: nobody holds less than nothing"
        if held:
            self.held[run.owner] = held
        else:
            self.held.pop(run.owner, None)

    def take_in(self, last: int) -> None:
        """The window grows up to `last`, by offsets that nobody has yet."""
        if last >= self.end:
            self._enter(OffsetRun(self.end, last, AVAILABLE))

    def skip(self, first: int, last: int, *, expired: bool = False, dead: bool = False) -> None:
        """These offsets hold nothing to be delivered: those that nobody has are finished. Beyond the end the window
        grows over them. What has `expired` may be a dead letter."""
        assert first <= self.end, "invariant 1: the window has no gaps"
        state = ARCHIVING if dead else ARCHIVED
        skipped = 0
        if self.start < self.end > first:
            for run in self.runs.within(first, min(last, self.end - 1)):
                if run.state is AVAILABLE and run.write == SETTLED:
                    part = self._cut(run, max(run.first, first), min(run.last, last))
                    self._count(part, -1)
                    part.state, part.not_before_ms, part.reason = state, 0, EXPIRED if dead else ""
                    self._count(part, 1)
                    self._note(part)
                    skipped += part.length
        if last >= self.end:
            run = OffsetRun(self.end, last, state, reason=EXPIRED if dead else "", unwritten=True)
            self._enter(run)
            self._changed.append(run)
            skipped += run.length
        if expired:
            self.counters.expired += skipped
        else:
            self.counters.skipped += skipped
        self.advance()

    def pass_log_start(self, log_start: int) -> None:
        """The log begins there now: what nobody has below it is finished."""
        if log_start > self.start:
            if self.start == self.end:
                self.start = self.end = log_start
            else:
                # Where somebody still has some, the window grows over what was deleted beyond its end.
                self.skip(self.start, log_start - 1)

    # -- acknowledgements

    def acknowledge(
        self, member_id: str, batches: Sequence[AckBatch], rules: ShareGroupSettings, now: Moment
    ) -> int | None:
        """Take what a member says, all of it or nothing; the number of the write to wait for, None for none."""
        pieces = list(self._pieces(member_id, batches, rules))
        waits = False
        for run, first, last, kind, backoff_ms in pieces:
            # A run may have been cut for the piece before this one.
            part = self._cut(run if run.first <= first <= run.last else self.runs.at(first), first, last)
            self.counters.acks[kind] += part.length
            if kind is AckType.RENEW:
                part.lock_until = now.monotonic + rules.lock_duration_ms / 1000
                self.schedule.enter(part)
            else:
                self._settle_later(part, kind, rules, now, backoff_ms)
                waits = True
        return self._gathering if waits else None

    def _pieces(self, member_id: str, batches: Sequence[AckBatch], rules: ShareGroupSettings) -> Iterator[Piece]:
        """What is acknowledged, run by run; nothing is changed yet."""
        seen = -1
        for batch in batches:
            if batch.last_offset >= self.end:
                raise InvalidRequest(f"offset {batch.last_offset} was not handed out; the window ends at {self.end}")
            if batch.last_offset < self.start:
                continue
            for first, last, kind in batch.from_offset(self.start).pieces():
                if kind is AckType.RENEW and not rules.renew_enabled:
                    raise InvalidRecordState("share.renew.acknowledge.enable is off")
                if first <= seen:
                    raise InvalidRecordState(f"offset {first} is acknowledged twice")
                seen = last
                for run in self.runs.within(first, last):
                    if run.state is not ACQUIRED or run.owner != member_id or run.write != SETTLED:
                        raise InvalidRecordState(f"offsets {run.first} to {run.last} are not this member's")
                    if batch.delivery_count not in (None, run.count):
                        raise InvalidRecordState(f"offsets {run.first} to {run.last} were delivered again since")
                    yield run, max(first, run.first), min(last, run.last), kind, batch.backoff_ms

    def _settle_later(
        self, run: OffsetRun, kind: AckType, rules: ShareGroupSettings, now: Moment, backoff_ms: int | None
    ) -> None:
        if kind is AckType.ACCEPT:
            run.target = DeliveryState.ACKNOWLEDGED
        elif kind is AckType.GAP:
            run.target = ARCHIVED
        elif kind is AckType.REJECT:
            run.target, run.reason = _dead(rules), REJECTED
        else:
            most_ms = rules.release_backoff_max_ms
            is_own = backoff_ms is not None and most_ms > 0
            self._let_go(run, rules, now, min(backoff_ms or 0, most_ms) if is_own else _backoff_ms(run, rules))
        self._hold(run, -1)
        run.write, run.unwritten = self._gathering, False
        self._changed.append(run)

    def _let_go(self, run: OffsetRun, rules: ShareGroupSettings, now: Moment, backoff_ms: int) -> None:
        """What becomes of a record that nobody has any more: it waits for its turn, or was delivered too often."""
        if run.count >= rules.delivery_count_limit:
            run.target, run.reason = _dead(rules), EXHAUSTED
            self.counters.exhausted += run.length
        else:
            run.target = AVAILABLE
            run.not_before_ms = now.wall_ms + backoff_ms if backoff_ms > 0 else 0

    # -- what the broker does by itself

    def expire_locks(
        self, rules: ShareGroupSettings, now: Moment, told: Callable[[OffsetRun], object] | None = None
    ) -> int:
        """Take back what was not acknowledged in time; how many offsets that are. Of each run somebody may be told
        while it still is its member's."""
        expired = 0
        for run in self.schedule.overdue(now.monotonic):
            if told is not None:
                told(run)
            expired += run.length
            self._take_back(run, rules, now, _backoff_ms(run, rules))
        if expired:
            self.counters.lock_expiries += expired
            self.advance()
        return expired

    def taken_by(self, member_id: str, offsets: Offsets | None = None) -> list[OffsetRun]:
        """What a member has, and has not said anything of; only what of it lies within some offsets, if they are
        given, which it is cut for."""
        if member_id not in self.held:
            return []
        if offsets is None:
            return [run for run in self.runs if _is_taken(run) and run.owner == member_id]
        first, last = max(offsets[0], self.start), min(offsets[1], self.end - 1)
        found = self.runs.within(first, last) if first <= last else []
        return [
            self._cut(run, max(run.first, first), min(run.last, last))
            for run in found
            if _is_taken(run) and run.owner == member_id
        ]

    def release(
        self,
        member_id: str,
        rules: ShareGroupSettings,
        now: Moment,
        backoff_ms: int = 0,
        offsets: Offsets | None = None,
    ) -> int:
        """Take back what a member has, who is gone, or of it what lies within some offsets; how many offsets that are.
        What it acknowledged goes its way."""
        released = 0
        for run in self.taken_by(member_id, offsets):
            released += run.length
            self._take_back(run, rules, now, backoff_ms)
        if released:
            self.counters.released += released
            self.advance()
        return released

    def _take_back(self, run: OffsetRun, rules: ShareGroupSettings, now: Moment, backoff_ms: int) -> None:
        self._hold(run, -1)
        self._let_go(run, rules, now, backoff_ms)
        self._become(run)
        self._note(run)

    def forget_holders(self) -> None:
        """The window is given up: nobody has anything of it any more."""
        for run in self.runs:
            if _is_taken(run):
                self._hold(run, -1)

    def letters_written(self, first: int, last: int) -> int | None:
        """These are in the dead-letter topic; the number of the write that says so, None if they were not expected."""
        waits = False
        for run in self.runs.within(first, last) if self.start < self.end else ():
            if run.state is ARCHIVING and run.write == SETTLED:
                part = self._cut(run, max(run.first, first), min(run.last, last))
                part.target, part.write, part.unwritten = ARCHIVED, self._gathering, False
                self._changed.append(part)
                waits = True
        return self._gathering if waits else None

    # -- writes

    @property
    def has_news(self) -> bool:
        """Whether there is something to write."""
        return bool(self._changed) or self._must_write or self.start != self._written_start

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way."""
        return self._writing is not None

    def write_soon(self) -> int:
        """Have a write made, whether or not there is anything new about offsets; its number."""
        self._must_write = True
        return self._gathering

    def begin_write(self) -> tuple[int, ShareChange]:
        """What has gathered, with the number that its members were told; `end_write` says how it went."""
        assert self._writing is None, "one write at a time"
        number, self._gathering, self._must_write = self._gathering, self._gathering + 1, False
        self._writing, self._changed = list({id(run): run for run in self._changed}.values()), []
        start, complete = self._after(number)
        batches = []
        for run in self._writing:
            if run.last < start:
                continue
            if run.write == number:
                batches.append(run.as_written(run.target))
            elif run.unwritten:
                batches.append(run.as_written(run.state))
            run.unwritten = False
        self._start_before_write, moved = self._written_start, start != self._written_start
        self._written_start = start
        return number, ShareChange(start if moved else UNCHANGED, complete, tuple(_joined(batches)))

    def _after(self, number: int) -> tuple[int, int]:
        """The start, and how many are finished behind it, once this write is durable."""
        start, passed = self.start, 0
        is_head = True
        complete = self.complete
        for run in self._writing or ():
            if run.write == number and run.target in FINAL:
                complete += run.length
        for run in self.runs:
            is_done = run.is_final or (run.write == number and run.target in FINAL)
            if not is_done:
                is_head = False
            if not is_head:
                break
            start, passed = run.last + 1, passed + run.length
        return start, complete - passed

    def end_write(self, rules: ShareGroupSettings, now: Moment, *, failed: bool) -> None:
        """The write under way is durable, or will not be."""
        assert self._writing is not None, "a write is under way"
        number, written, self._writing = self._gathering - 1, self._writing, None
        if failed:
            self.counters.failed_writes += 1
            self._written_start = self._start_before_write
        for run in written:
            if run.last < self.start:
                continue
            if run.write == number:
                run.write = SETTLED
                if failed:
                    self._roll_back(run, rules, now)
                else:
                    self._become(run)
                    if run.state is ARCHIVING:
                        self.letters.append(run)
            elif failed:
                self._note(run)
            elif run.state is ARCHIVING and not run.unwritten:
                self.letters.append(run)
        self.advance()
        for run in written if not failed else ():
            if run.last >= self.start and run.is_final and not run.unwritten and self.runs.at(run.first) is run:
                self.runs.join(run)

    def _roll_back(self, run: OffsetRun, rules: ShareGroupSettings, now: Moment) -> None:
        """It is what it was before its acknowledgement; or available, if its time ran out meanwhile."""
        if run.state is not ACQUIRED:
            self.letters.append(run)
            return
        self._hold(run, 1)
        self.schedule.enter(run)
        run.not_before_ms, run.reason = 0, ""
        if run.lock_until <= now.monotonic:
            self._take_back(run, rules, now, _backoff_ms(run, rules))

    def _become(self, run: OffsetRun) -> None:
        """Its change is in force."""
        run.state, run.lock_until = run.target, 0.0
        if run.state is not ARCHIVING:
            run.owner = run.reason = ""
        self._count(run, 1)

    def _note(self, run: OffsetRun) -> None:
        """It has changed, and the next write says so."""
        if not run.unwritten:
            run.unwritten = True
            self._changed.append(run)

    def _cut(self, run: OffsetRun, first: int, last: int) -> OffsetRun:
        if run.first == first and run.last == last:
            return run
        part, made = self.runs.cut(run, first, last)
        if run.unwritten:
            self._changed += made
        for each in made:
            self.schedule.enter(each)
        return part

    def advance(self) -> None:
        """Pass what is finished at the head (invariant 2)."""
        runs = self.runs
        while (head := runs.head) is not None and head.is_final:
            self.complete -= head.length
            self.start = head.last + 1
            runs.drop_head()

    # -- times

    def next_time(self, now: Moment) -> float | None:
        """In how many seconds something happens by itself: a lock runs out, a back-off ends. None: nothing will."""
        self.schedule.end_waits(now.wall_ms)
        lock_until, wait_until_ms = self.schedule.next_lock, self.schedule.next_wait_ms
        waits: list[float] = []
        if lock_until is not None:
            waits.append(lock_until - now.monotonic)
        if wait_until_ms is not None:
            waits.append((wait_until_ms - now.wall_ms) / 1000)
        return max(min(waits), 0.0) if waits else None

    def take_letters(self) -> list[OffsetRun]:
        """The dead letters that somebody has to see to."""
        letters, self.letters = self.letters, []
        return letters

    def dead(self) -> list[OffsetRun]:
        """What is being archived, durably so."""
        return [run for run in self.runs if run.state is ARCHIVING and run.write == SETTLED and not run.unwritten]

    def in_backoff(self, now_ms: int) -> int:
        """Offsets that wait for their time."""
        self.schedule.end_waits(now_ms)
        return self.schedule.waiting


def _is_taken(run: OffsetRun) -> bool:
    return run.state is ACQUIRED and run.write == SETTLED


def _dead(rules: ShareGroupSettings) -> DeliveryState:
    return ARCHIVING if rules.dead_letters_enabled else ARCHIVED


def _backoff_ms(run: OffsetRun, rules: ShareGroupSettings) -> int:
    """After its first delivery the shortest wait, after each further one a longer."""
    if rules.retry_backoff_ms <= 0:
        return 0
    factor = rules.retry_backoff_multiplier ** max(run.count - 1, 0)
    return int(min(rules.retry_backoff_ms * factor, max(rules.retry_backoff_max_ms, rules.retry_backoff_ms)))


def _joined(batches: list[StateBatch]) -> Iterator[StateBatch]:
    """In order, and neighbours that are told the same as one."""
    batches.sort(key=lambda batch: batch.first_offset)
    one: StateBatch | None = None
    for batch in batches:
        if one is not None and one.last_offset + 1 == batch.first_offset and _same(one, batch):
            one = StateBatch(
                one.first_offset,
                batch.last_offset,
                one.state,
                one.delivery_count,
                one.not_before_ms,
                one.first_delivered_ms,
                one.last_delivered_ms,
                one.reason,
                one.member_id,
            )
            continue
        if one is not None:
            yield one
        one = batch
    if one is not None:
        yield one


def _same(one: StateBatch, other: StateBatch) -> bool:
    if one.state in FINAL:
        return one.state is other.state
    return (one.state, one.delivery_count, one.not_before_ms, one.reason, one.member_id) == (
        other.state,
        other.delivery_count,
        other.not_before_ms,
        other.reason,
        other.member_id,
    )
