"""Which runs of a window are next: the lock that runs out first, the back-off that ends first, the first that is ready.

A window has up to some thousand runs, and these questions come with every fetch and every write, so none of them may
walk them. Three heaps hold an entry for what a run *was* when it was put there. Nothing is taken out when a run
changes: an entry that is true no longer is passed over when it comes to the top, and when most of a heap is such it is
made anew without them. A run never changes its first offset, and is in its window for as long as it is not finished: so
a run itself tells whether an entry about it is still true.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count

from coordinators.share.runs import ACQUIRED, AVAILABLE, SETTLED, OffsetRun

SPARE = 64
"""So many entries may be untrue before anybody minds."""


class _Heap:
    """Entries by key; `key_of` tells what the key of a run is now, None where it has none here."""

    __slots__ = ("_bound", "_entries", "_key_of", "_numbers")

    def __init__(self, key_of: Callable[[OffsetRun], float | None]) -> None:
        self._key_of = key_of
        self._entries: list[tuple[float, int, OffsetRun]] = []
        self._numbers = count()
        self._bound = SPARE

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: float, run: OffsetRun) -> None:
        entries = self._entries
        if len(entries) >= self._bound:
            key_of = self._key_of
            # One entry for each run: who was lent again and again until the same time may have several.
            true = {id(entry[2]): entry for entry in entries if key_of(entry[2]) == entry[0]}
            self._entries = entries = list(true.values())
            heapify(entries)
            self._bound = 2 * len(entries) + SPARE
        heappush(entries, (key, next(self._numbers), run))

    def first(self) -> tuple[float, OffsetRun] | None:
        """The true entry with the least key."""
        entries, key_of = self._entries, self._key_of
        while entries:
            key, _, run = entries[0]
            if key_of(run) == key:
                return key, run
            heappop(entries)
        return None

    def take_until(self, key: float) -> list[OffsetRun]:
        """The runs of all true entries up to this key, each once; their entries are gone."""
        found: dict[int, OffsetRun] = {}
        while (top := self.first()) is not None and top[0] <= key:
            found[id(top[1])] = top[1]
            heappop(self._entries)
        return list(found.values())


def _lock_of(run: OffsetRun) -> float | None:
    return run.lock_until if run.state is ACQUIRED and run.write == SETTLED else None


def _wait_of(run: OffsetRun) -> float | None:
    return run.not_before_ms if run.state is AVAILABLE and run.not_before_ms else None


def _place_of(run: OffsetRun) -> float | None:
    return run.first if run.state is AVAILABLE and not run.not_before_ms else None


class Schedule:
    """See the module."""

    __slots__ = ("_locks", "_ready", "_waits", "waiting")

    def __init__(self) -> None:
        self._locks = _Heap(_lock_of)
        self._waits = _Heap(_wait_of)
        self._ready = _Heap(_place_of)
        self.waiting = 0
        """Offsets of available runs that have a time before which they are not handed out, come or not."""

    def __len__(self) -> int:
        return len(self._locks) + len(self._waits) + len(self._ready)

    def enter(self, run: OffsetRun) -> None:
        """It is acquired or available now, or was cut off from one that is. Others have nothing to wait for."""
        if run.state is ACQUIRED:
            self._locks.put(run.lock_until, run)
        elif run.state is AVAILABLE and run.not_before_ms:
            self._waits.put(run.not_before_ms, run)
        elif run.state is AVAILABLE:
            self._ready.put(run.first, run)

    def first_ready(self, now_ms: int) -> OffsetRun | None:
        """The one with the least offset that can be handed out."""
        if self.waiting:
            self.end_waits(now_ms)
        top = self._ready.first()
        return None if top is None else top[1]

    def end_waits(self, now_ms: int) -> None:
        """What has waited for long enough is ready."""
        for run in self._waits.take_until(now_ms):
            self.waiting -= run.length
            run.not_before_ms = 0
            self._ready.put(run.first, run)

    def overdue(self, now: float) -> list[OffsetRun]:
        """Those whose locks have run out; they have to be taken back."""
        return self._locks.take_until(now)

    @property
    def next_lock(self) -> float | None:
        """When the next lock runs out, by the steady clock."""
        top = self._locks.first()
        return None if top is None else top[0]

    @property
    def next_wait_ms(self) -> int | None:
        """When the next back-off ends, by the wall clock."""
        top = self._waits.first()
        return None if top is None else int(top[0])
