"""When what is due: a hierarchical timer wheel for millions of entries, each a due time and a record's number.

A heap of Python objects would take several times the memory; here an entry takes 16 bytes and moves a few times in
all. There are five levels of slots (10 ms, a second, a minute, an hour, a day wide); a slot exists only while it holds
something. In front of them is a sorted buffer of what is due within the next seconds. As time passes, entries move from
wide slots to narrow ones and into the buffer. Each level has a *horizon*: everything due before it has left the level
already. Horizons run ahead of the clock, the further the wider the slots are, so that a slot is empty long before its
first entry is due. They never go back, even if the clock does.

Bounds. Besides its 16 bytes an entry costs the spare room of its slot, a sixteenth. A call of `due` moves at most MOVES
entries and returns at most `limit`; what is left in a slot waits for the next call. Entries come out in order of (due
time, number), over many calls too; only one that is added late may come after those that are due later. After a jump of
the clock there may be more to move than one call can: then `due` gives less than there is, and `next_ms` says to call
again at once. No entry is ever early: `due` compares each one's own time with the clock it is given.

Encoding, little endian: for each level its horizon (i64) and number of slots (u32), per slot its index (i64), the
number of entries (u32) and the entries (pairs of i64); then the buffer as engine/stage/sorted_pairs.py has it.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice

from attrs import define, field

from engine.stage.sorted_pairs import SortedPairs
from engine.stage.sorted_rows import Buffer, from_little_endian, little_endian

WheelEntry = tuple[int, int]

TICK_MS = 10
_SECOND_MS = 1_000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
# Width of the slots of a level, and how long before its time a slot is emptied. Moving a million entries down a level
# takes seconds of calls: leads leave room for that. They rise, so that a level never overtakes the one above it.
LEVELS = (
    (TICK_MS, 2 * _SECOND_MS),
    (_SECOND_MS, 10 * _SECOND_MS),
    (_MINUTE_MS, 2 * _MINUTE_MS),
    (_HOUR_MS, _HOUR_MS),
    (_DAY_MS, 6 * _HOUR_MS),
)
MOVES = 500
# What turning to another slot costs, in entries moved.
_SLOT_COST = 10
# Slots of which a histogram counts a sample only, if an edge falls into them.
_COUNTED_ENTRIES = 1_000
_HEAD = struct.Struct("<qI")


@define(eq=False)
class _Level:
    """Slots of one width. A slot holds due times and numbers in turn, in any order."""

    width_ms: int
    lead_ms: int
    horizon_ms: int
    slots: dict[int, "array[int]"] = field(factory=dict)
    order: list[int] = field(factory=list)
    """A heap of the slots' indexes."""

    def add(self, due_ms: int, number: int) -> None:
        index = due_ms // self.width_ms
        slot = self.slots.get(index)
        if slot is None:
            slot = self.slots[index] = array("q")
            heappush(self.order, index)
        slot.append(due_ms)
        slot.append(number)

    @property
    def start_ms(self) -> int | None:
        """Where the first slot begins."""
        return self.order[0] * self.width_ms if self.order else None

    def advance(self, now_ms: int, bound_ms: int | None) -> None:
        """Moves the horizon on to what the clock asks for, as far as there is nothing to move down on the way."""
        wanted = _round_up(now_ms + self.lead_ms, self.width_ms)
        bounds = (wanted, self.start_ms, bound_ms)
        self.horizon_ms = max(self.horizon_ms, min(bound for bound in bounds if bound is not None))

    def take(self, limit: int) -> "array[int]":
        """Some entries of the first slot; the slot goes with its last one."""
        slot = self.slots[self.order[0]]
        taken = slot[-2 * limit :]
        del slot[-2 * limit :]
        if not slot:
            del self.slots[heappop(self.order)]
        return taken

    def encode(self) -> Iterator[bytes]:
        yield _HEAD.pack(self.horizon_ms, len(self.slots))
        for index, slot in sorted(self.slots.items()):
            yield _HEAD.pack(index, len(slot) // 2)
            yield little_endian(slot)


@define(eq=False, init=False)
class Wheel:
    """See the module."""

    _levels: list[_Level]
    _near: SortedPairs
    _far_count: int

    def __init__(self, now_ms: int) -> None:
        self._levels = [_Level(width, lead, _round_up(now_ms + lead, width)) for width, lead in LEVELS]
        self._near = SortedPairs()
        self._far_count = 0

    def __len__(self) -> int:
        return len(self._near) + self._far_count

    def add(self, due_ms: int, number: int) -> None:
        """Adds an entry, in the past too."""
        below = None
        for level in self._levels:
            if due_ms < level.horizon_ms:
                break
            below = level
        if below is None:
            self._near.add(due_ms, number)
        else:
            below.add(due_ms, number)
            self._far_count += 1

    def due(self, now_ms: int, limit: int) -> list[WheelEntry]:
        """Removes and gives what is due, the earliest first. See the module about how much."""
        return self._near.take(self.gather(now_ms), limit)

    def gather(self, now_ms: int) -> int:
        """Moves what is due to where it can be taken, within the bound on work; gives the time up to which all is
        there."""
        self._cascade(now_ms)
        # Beyond the horizon the buffer may hold a part of a slot only.
        return min(now_ms, self._levels[0].horizon_ms - 1)

    def take(self, until_ms: int, limit: int) -> list[WheelEntry]:
        """Removes and gives the earliest entries up to a time that `gather` gave, or an earlier one."""
        return self._near.take(until_ms, limit)

    def next_ms(self) -> int | None:
        """When to call `due` again: never later than the earliest entry; earlier if a slot is to be emptied then.
        None: there is no entry."""
        first = self._near.first()
        times = [] if first is None else [first]
        times += [start - level.lead_ms for level in self._levels if (start := level.start_ms) is not None]
        return min(times, default=None)

    def entries(self) -> Iterator[WheelEntry]:
        """All entries, in no order. The wheel must not change meanwhile."""
        yield from self._near
        for level in self._levels:
            for slot in level.slots.values():
                yield from zip(slot[::2], slot[1::2], strict=True)

    def soonest(self) -> list[WheelEntry]:
        """Some of the earliest entries in order, the very earliest among them: the caller may find that the first ones
        mean nothing any more. Of a large slot one alone is given."""
        found = list(islice(self._near, _COUNTED_ENTRIES))
        for level in self._levels:
            slot = level.slots[level.order[0]] if level.order else array("q")
            if len(slot) > 2 * _COUNTED_ENTRIES:
                dues = slot[::2]
                place = dues.index(min(dues))
                slot = slot[2 * place : 2 * place + 2]
            found += zip(slot[::2], slot[1::2], strict=True)
        return sorted(found)

    def histogram(self, edges: Sequence[int]) -> list[int]:
        """How many entries are due before the first edge, from each edge to the next, and from the last one on. Of a
        large slot with an edge inside a sample is counted: the sum is exact, the two parts nearly."""
        below = [self._near.count_below(edge) for edge in edges]
        counts = [end - start for start, end in zip([0, *below], [*below, len(self._near)], strict=True)]
        for level in self._levels:
            for index, slot in level.slots.items():
                _count_slot(counts, edges, index * level.width_ms, level.width_ms, slot)
        return counts

    def encode(self) -> Iterator[bytes]:
        """All entries as they lie. The wheel must not change meanwhile."""
        for level in self._levels:
            yield from level.encode()
        yield from self._near.encode()

    @classmethod
    def decode(cls, data: Buffer, position: int) -> tuple["Wheel", int]:
        """What `encode` gave, and where it ended. ValueError: it is something else."""
        wheel = cls(0)
        for level in wheel._levels:
            position = _decode_level(level, data, position)
            wheel._far_count += sum(map(len, level.slots.values())) // 2
        horizons = [level.horizon_ms for level in wheel._levels]
        if horizons != sorted(horizons):
            raise ValueError("horizons that overtake each other")
        wheel._near, position = SortedPairs.decode(data, position)
        return wheel, position

    def _cascade(self, now_ms: int) -> None:
        """Moves entries towards the buffer as far as the clock asks for it, within the bound on work."""
        moves = MOVES
        while moves > 0 and (at := self._advance(now_ms)) is not None:
            level = self._levels[at]
            end_ms = level.order[0] * level.width_ms + level.width_ms
            taken = level.take(moves)
            # What the clock has passed by goes straight to the buffer.
            passed = end_ms <= now_ms + self._levels[0].lead_ms
            self._move(None if passed or not at else self._levels[at - 1], taken)
            moves -= len(taken) // 2 + _SLOT_COST

    def _advance(self, now_ms: int) -> int | None:
        """Moves the horizons on. Gives the lowest level whose first slot is to be emptied now: the nearest is the most
        urgent."""
        bound_ms = None
        for level in reversed(self._levels):
            level.advance(now_ms, bound_ms)
            bound_ms = level.horizon_ms
        for at, level in enumerate(self._levels):
            if level.order and level.order[0] * level.width_ms - level.lead_ms <= now_ms:
                return at
        return None

    def _move(self, level: _Level | None, taken: "array[int]") -> None:
        if level is None:
            self._far_count -= len(taken) // 2
        add = self._near.add if level is None else level.add
        for due_ms, number in zip(taken[::2], taken[1::2], strict=True):
            add(due_ms, number)


def due_by_either(steady: Wheel, wall: Wheel, steady_ms: int, wall_ms: int, limit: int) -> list[WheelEntry]:
    """Removes and gives what is due in two wheels of two clocks, the earliest first, with its time by the first clock.

    Of neither wheel anything is given that is due after what the other one still has to give: one order over both."""
    ahead_ms = wall_ms - steady_ms
    until_ms = min(steady.gather(steady_ms), wall.gather(wall_ms) - ahead_ms)
    found = [(due_ms, number, 0, steady) for due_ms, number in steady.take(until_ms, limit)]
    found += [(due_ms - ahead_ms, number, ahead_ms, wall) for due_ms, number in wall.take(until_ms + ahead_ms, limit)]
    found.sort(key=_entry_of)
    for due_ms, number, shift_ms, wheel in found[limit:]:
        wheel.add(due_ms + shift_ms, number)
    return [_entry_of(one) for one in found[:limit]]


def _entry_of(found: tuple[int, int, int, Wheel]) -> WheelEntry:
    return found[:2]


def _round_up(time_ms: int, width_ms: int) -> int:
    return -(-time_ms // width_ms) * width_ms


def _count_slot(counts: list[int], edges: Sequence[int], start_ms: int, width_ms: int, slot: "array[int]") -> None:
    """Adds the entries of a slot to a histogram."""
    total = len(slot) // 2
    bucket = bisect_right(edges, start_ms)
    if bucket == bisect_right(edges, start_ms + width_ms - 1):
        counts[bucket] += total
        return
    step = -(-total // _COUNTED_ENTRIES)
    buckets = sorted(bisect_right(edges, due_ms) for due_ms in slot[:: 2 * step])
    for place, bucket in enumerate(buckets):
        # Each of the sample stands for as many as make up the total.
        counts[bucket] += total * (place + 1) // len(buckets) - total * place // len(buckets)


def _decode_level(level: _Level, data: Buffer, position: int) -> int:
    """Fills a level; gives where it ended."""
    level.horizon_ms, slots, position = _decode_head(data, position)
    if level.horizon_ms % level.width_ms:
        raise ValueError(f"a horizon of {level.horizon_ms} ms over slots of {level.width_ms} ms")
    for _ in range(slots):
        index, count, position = _decode_head(data, position)
        slot, position = from_little_endian("q", data, position, 2 * count)
        start_ms = index * level.width_ms
        dues = slot[::2]
        if index in level.slots or not slot or min(dues) < start_ms or max(dues) >= start_ms + level.width_ms:
            raise ValueError(f"slot {index} of {level.width_ms} ms holds what it should not")
        if start_ms < level.horizon_ms:
            raise ValueError(f"slot {index} of {level.width_ms} ms is before the horizon")
        level.slots[index] = slot
    level.order = list(level.slots)
    heapify(level.order)
    return position


def _decode_head(data: Buffer, position: int) -> tuple[int, int, int]:
    if position < 0 or position + _HEAD.size > len(data):
        raise ValueError(f"{len(data) - position} bytes, where a level or slot should stand")
    value, count = _HEAD.unpack_from(data, position)
    return value, count, position + _HEAD.size
