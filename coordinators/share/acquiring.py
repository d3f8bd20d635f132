"""Which offsets of a share partition a member is given, out of what was read of its log.

What was read are spans: a batch of the log each, or a part of one where some of its records are not to be delivered.

1. `batch_optimized` ends with the batch of the log in which the last wanted record lies, so that batches stay whole and
   more may come than was asked for. `record_limit` never gives more.
2. What is available within the window comes first, then what follows its end, as long as the window has room.
3. Offsets without a record to deliver (gaps that compaction left, markers, aborted transactions) are finished at once.
4. Poison is isolated: once a run was delivered half as often as it may be it goes apart from others, each time a half
   of what it was, and a record's last delivery is its own. A member that one record kills then takes few others along.
5. No member holds more than `share.consumer.max.in.flight`, in either mode.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from coordinators.share.config import ShareGroupSettings
from coordinators.share.runs import OffsetRun
from coordinators.share.window import Moment, ShareWindow


class Acquired(NamedTuple):
    """Neighbouring offsets that a member was given, each for the same time."""

    first_offset: int
    last_offset: int
    delivery_count: int


class ReadSpan(NamedTuple):
    """A batch of the log, or a part of one, as far as it matters here."""

    first_offset: int
    last_offset: int
    is_delivered: bool = True
    """Whether there is anything in it that a member may be given."""
    expired: bool = False
    dead: bool = False
    """Whether what has expired goes to the dead-letter topic."""


class ShareWanted(Struct, frozen=True):
    """What a member asks for."""

    member_id: str
    max_records: int
    batch_size: int = 0
    """After so many offsets a new range begins with the next batch of the log; 0: never."""
    is_strict: bool = False
    """`record_limit`."""


class Acquisition:
    """One hand-out."""

    __slots__ = ("_apart", "_budget", "_lock_until", "_now", "_room", "_rules", "_spans", "_wanted", "_window", "taken")

    def __init__(
        self,
        window: ShareWindow,
        spans: Sequence[ReadSpan],
        wanted: ShareWanted,
        rules: ShareGroupSettings,
        now: Moment,
    ) -> None:
        self._window = window
        self._spans = spans
        self._wanted = wanted
        self._rules = rules
        self._now = now
        self._lock_until = now.monotonic + rules.lock_duration_ms / 1000
        self._room = rules.max_in_flight - window.held.get(wanted.member_id, 0)
        self._budget = min(wanted.max_records, self._room)
        self._apart = False
        self.taken: list[Acquired] = []

    def carry_out(self, position: int) -> list[Acquired]:
        """`position` is the offset from which the log was read."""
        if not self._spans or self._budget <= 0:
            return self.taken
        self._skip_holes(position)
        if position < self._window.end and self._window.available:
            self._take_again(position)
        if self._budget > 0 and not self._apart:
            self._take_new()
        return self.taken

    def _skip_holes(self, position: int) -> None:
        """Finish what holds no record within the window, from where the log was read."""
        window = self._window
        for first, last, is_delivered, expired, dead in self._spans:
            if position >= window.end:
                return
            if first > position:
                window.skip(position, min(first, window.end) - 1)
            if not is_delivered and position <= last and first < window.end:
                window.skip(max(first, position), min(last, window.end - 1), expired=expired, dead=dead)
            position = max(position, last + 1)

    # -- within the window

    def _take_again(self, position: int) -> None:
        window, now_ms = self._window, self._now.wall_ms
        read_last = min(self._spans[-1].last_offset, window.end - 1)
        for run in window.runs.within(position, read_last) if window.start < window.end else ():
            if not run.is_ready(now_ms):
                continue
            first, last = max(run.first, position), min(run.last, read_last)
            most = self._isolated(run)
            if most:
                if self.taken:
                    # It goes by itself, next time.
                    self._apart = True
                    return
                last = min(last, first + most - 1)
                self._apart = True
            last = min(last, self._last_wanted(first), first + self._room - 1)
            self._took(window.give(run, first, last, self._wanted.member_id, self._lock_until, now_ms))
            if self._budget <= 0 or self._apart:
                return

    def _isolated(self, run: OffsetRun) -> int:
        """How many of a run go at a time that may hold poison; 0: it does not look like it (rule 4)."""
        limit = self._rules.delivery_count_limit
        threshold = max(2, (limit + 1) // 2)
        if limit > 2 and run.count >= limit - 1:
            return 1
        if run.count < threshold:
            return 0
        return max(run.length >> (run.count - threshold + 1), 1)

    def _last_wanted(self, first: int) -> int:
        """Up to where it is wanted, in the mode of this hand-out (rule 1)."""
        last = first + self._budget - 1
        return last if self._wanted.is_strict else self._end_of_batch(last)

    def _end_of_batch(self, offset: int) -> int:
        for span in self._spans:
            if span.last_offset >= offset:
                return span.last_offset
        return self._spans[-1].last_offset

    def _took(self, run: OffsetRun) -> None:
        self.taken.append(Acquired(run.first, run.last, run.count))
        self._budget -= run.length
        self._room -= run.length

    # -- behind the window

    def _take_new(self) -> None:
        window, wanted = self._window, self._wanted
        while self._budget > 0:
            space = self._rules.max_record_locks - window.in_flight
            span = self._next_span()
            if span is None or space <= 0:
                return
            first, delivered_until = span
            if first > window.end:
                window.skip(window.end, first - 1)
                continue
            budget = min(self._budget, space)
            last = first + budget - 1
            if not wanted.is_strict:
                last = self._end_of_batch(last)
            # However large a batch is: never more than two windows at a time.
            most = window.start + 2 * self._rules.max_record_locks - 1
            last = min(last, first + self._room - 1, delivered_until, most)
            if wanted.batch_size > 0:
                last = min(last, self._end_of_range(first, wanted.batch_size))
            self._took(window.give_new(last, wanted.member_id, self._lock_until, self._now.wall_ms))

    def _next_span(self) -> tuple[int, int] | None:
        """The next offsets behind the window that hold records, without a hole among them."""
        first, last = -1, -1
        for span in self._spans:
            if span.last_offset < self._window.end:
                continue
            if not span.is_delivered:
                if first >= 0:
                    break
                # Nothing but holes so far: the window grows over them.
                self._pass(span)
            elif first < 0:
                first, last = max(span.first_offset, self._window.end), span.last_offset
            elif span.first_offset == last + 1:
                last = span.last_offset
            else:
                break
        return None if first < 0 else (first, last)

    def _pass(self, span: ReadSpan) -> None:
        """Let the window grow over what holds nothing, and the gap before it."""
        window = self._window
        if span.first_offset > window.end:
            window.skip(window.end, span.first_offset - 1)
        window.skip(window.end, span.last_offset, expired=span.expired, dead=span.dead)

    def _end_of_range(self, first: int, size: int) -> int:
        """The end of the batch in which a range is as long as it should be."""
        return self._end_of_batch(first + size - 1)


class OrderedAcquisition(Acquisition):
    """One hand-out of a group that keeps the order of each key: a record is given only if none before it of the same
    key is unsettled. `keys` are those of all records from the window's start to the last that was read."""

    __slots__ = ("_busy", "_keys", "_last_allowed")

    def __init__(
        self,
        window: ShareWindow,
        spans: Sequence[ReadSpan],
        wanted: ShareWanted,
        rules: ShareGroupSettings,
        now: Moment,
        keys: Mapping[int, bytes | None],
        last_allowed: int,
    ) -> None:
        super().__init__(window, spans, wanted, rules, now)
        self._keys = keys
        self._last_allowed = last_allowed
        self._busy: set[bytes] = set()

    def carry_out(self, position: int) -> list[Acquired]:
        """As above, one record after the other; batches are not kept whole."""
        if not self._spans or self._budget <= 0:
            return self.taken
        self._skip_holes(position)
        for run in tuple(self._window.runs):
            if run.is_final:
                continue
            is_ready = run.is_ready(self._now.wall_ms) and run.first <= self._last_allowed
            for first, last in self._free(run.first, run.last) if is_ready else self._blocked(run):
                self._give_again(first, min(last, self._last_allowed))
            if self._budget <= 0 or self._apart:
                return self.taken
        self._take_new()
        return self.taken

    def _blocked(self, run: OffsetRun) -> Iterator[tuple[int, int]]:
        """Nothing; whoever has the same keys waits for it."""
        for offset in range(run.first, run.last + 1):
            self._is_free(offset)
        return iter(())

    def _is_free(self, offset: int) -> bool:
        """Whether no record of the same key comes before it; from now on this one does."""
        key = self._keys.get(offset)
        if key is None:
            return True
        if key in self._busy:
            return False
        self._busy.add(key)
        return True

    def _free(self, first: int, last: int) -> list[tuple[int, int]]:
        """Neighbours that can be given, in order."""
        free: list[tuple[int, int]] = []
        for offset in range(first, last + 1):
            if self._is_free(offset):
                if free and free[-1][1] == offset - 1:
                    free[-1] = free[-1][0], offset
                else:
                    free.append((offset, offset))
        return free

    def _give_again(self, first: int, last: int) -> None:
        if self._budget <= 0 or self._apart or first > last:
            return
        run = self._window.runs.at(first)
        most = self._isolated(run)
        if most:
            if self.taken:
                self._apart = True
                return
            last, self._apart = min(last, first + most - 1), True
        last = min(last, first + self._budget - 1)
        given = self._window.give(run, first, last, self._wanted.member_id, self._lock_until, self._now.wall_ms)
        self._took(given)

    def _take_new(self) -> None:
        window, member_id, now_ms = self._window, self._wanted.member_id, self._now.wall_ms
        for span in self._spans:
            if span.last_offset < window.end:
                continue
            if self._budget <= 0 or window.in_flight >= self._rules.max_record_locks:
                return
            if not span.is_delivered:
                self._pass(span)
                continue
            if span.first_offset > window.end:
                window.skip(window.end, span.first_offset - 1)
            last_known = min(span.last_offset, self._last_allowed, window.start + self._rules.max_record_locks - 1)
            while window.end <= last_known and self._budget > 0:
                first, is_free = window.end, self._is_free(window.end)
                last = first
                while last < last_known and last - first + 1 < self._budget and self._is_like(last + 1, is_free):
                    last += 1
                if is_free:
                    self._took(window.give_new(last, member_id, self._lock_until, now_ms))
                else:
                    window.take_in(last)

    def _is_like(self, offset: int, is_free: bool) -> bool:
        key = self._keys.get(offset)
        if is_free:
            return self._is_free(offset)
        return key is not None and key in self._busy


def acquire(
    window: ShareWindow,
    spans: Sequence[ReadSpan],
    position: int,
    wanted: ShareWanted,
    rules: ShareGroupSettings,
    now: Moment,
) -> list[Acquired]:
    """Give a member what it may have of the batches that were read from `position` on."""
    return Acquisition(window, spans, wanted, rules, now).carry_out(position)
