"""What is ready in a prioritised partition: five lanes, and the order in which readers are given what is in them.

`choose` says what comes next and changes nothing. `take` removes what an intent names, in replay as in live use: the
choice is written down before it counts. Which lane has its turn is decided in engine/stage/turns.py. Within a lane,
records leave in the order in which they became ready.

A ready record, or a run of them, costs 32 bytes (engine/stage/lane_queue.py). The time that `choose` takes grows with
what it gives, not with what is ready; `choose_first` takes a few milliseconds more. `stage.max.bytes` bounds how much
may be ready, which is the caller's business.

Encoding, little endian: order, reading clock and last read (i64 each); per lane deficit, waiting since, last served,
enqueued, dequeued, starved turns (i64 each), and its queue.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from attrs import define, field

from engine.stage.lane_queue import LaneEntry, LaneQueue, Stretch
from engine.stage.sorted_rows import Buffer
from engine.stage.turns import LANES, NEVER, LaneRules, Turns

__all__ = ["LANES", "LaneRules", "LaneStatistics", "Lanes", "Piece"]

_HEAD = struct.Struct("<qqq")
_LANE = struct.Struct("<qqqqqq")
_SIZE_MAX = 2**32 - 1
_NUMBER_MAX = 2**62
_lane_of = attrgetter("lane")


class Piece(NamedTuple):
    """Records of a lane that follow one another: of one that was pushed, or a part of it."""

    lane: int
    number: int
    count: int  # type: ignore[assignment]


class LaneStatistics(NamedTuple):
    """A lane. `oldest_age_ms` is -1 if it is empty, `last_served_ms` if it was never served."""

    ready: int
    oldest_age_ms: int
    last_served_ms: int
    enqueued: int
    dequeued: int
    starved_turns: int


@define(eq=False)
class _Lane:
    """A queue and what is counted about it."""

    queue: LaneQueue = field(factory=LaneQueue)
    last_served_ms: int = NEVER
    enqueued: int = 0
    dequeued: int = 0
    starved_turns: int = 0


@define(eq=False)
class _Cursor:
    """Reads a lane from its front, up to records of an order, without taking anything."""

    entries: Iterator[LaneEntry]
    end_order: int | None
    number: int = 0
    left: int = 0
    """Of the entry that is being read."""
    size: int = 0
    fresh: bool = False
    """Whether nothing has been read of that entry yet."""

    def settle(self) -> int:
        """What is left of the present entry, or else of the next one; 0 at the end."""
        if not self.left and (entry := next(self.entries, None)) is not None:
            reach = entry.count if self.end_order is None else self.end_order - entry.order
            self.number, self.left, self.size = entry.number, max(min(entry.count, reach), 0), entry.size
            self.fresh = True
        return self.left

    def read(self, count: int) -> None:
        self.number += count
        self.left -= count
        self.fresh = False


@define(eq=False)
class _Limits:
    """How much may still be chosen."""

    records: int
    bytes: int | None
    _chosen: bool = False

    def fit(self, count: int, size: int) -> int:
        """How many of `count` records of this size each still fit; they are counted in."""
        count = min(count, self.records)
        if self.bytes is not None:
            # A record greater than the limit is given alone, or nobody could ever read on.
            fitting = max(self.bytes // max(size, 1), 0 if self._chosen else 1)
            count = min(count, fitting)
            self.bytes -= count * size
        self.records -= count
        self._chosen = True
        return max(count, 0)


@define(eq=False)
class Lanes:
    """See the module. `rules` may be replaced at any time."""

    rules: LaneRules = field(factory=LaneRules)
    _lanes: tuple[_Lane, ...] = field(factory=lambda: tuple(_Lane() for _ in range(LANES)), init=False)
    _turns: Turns = field(factory=lambda: Turns(LaneRules()), init=False)
    _order: int = field(default=0, init=False)
    """How many records have ever become ready."""
    _records: int = field(default=0, init=False)

    def __len__(self) -> int:
        """Ready records."""
        return self._records

    def push(self, lane: int, number: int, count: int, size: int, now_ms: int) -> None:
        """Records `number` and following, `size` bytes in all, are ready. ValueError: they cannot be."""
        if (
            not 0 <= lane < LANES
            or not 0 <= number <= _NUMBER_MAX
            or not 0 < count <= _SIZE_MAX
            or not 0 <= size <= _SIZE_MAX
        ):
            raise ValueError(f"lane {lane}, number {number}, count {count}, size {size}")
        into = self._lanes[lane]
        if not into.queue.records:
            self._scheduled().begin_waiting(lane, now_ms)
        into.queue.push(LaneEntry(number, count, max(-(-size // count), 1), now_ms, self._order))
        into.enqueued += count
        self._order += count
        self._records += count

    def choose(self, limit_records: int, limit_bytes: int, now_ms: int) -> list[Piece]:
        """What is next, in order, within the limits; one record at least if there is any."""
        return self._walk(self._cursors(None), _Limits(limit_records, limit_bytes), now_ms)

    def choose_first(
        self, count: int, now_ms: int, limit_records: int | None = None, limit_bytes: int | None = None
    ) -> list[Piece]:
        """Exactly the `count` records that were ready first, in the order of turns among themselves. With limits, the
        beginning of that, one record at least; once it is taken, the rest is what `choose_first` gives for the rest of
        the count."""
        end_order = self._order_after(min(count, self._records))
        limit = count if limit_records is None else min(count, limit_records)
        return self._walk(self._cursors(end_order), _Limits(limit, limit_bytes), now_ms)

    def take(self, pieces: Iterable[Piece], now_ms: int) -> None:
        """Removes what was chosen, now or before a restart. ValueError: it is not at the front of its lanes."""
        turns = self._scheduled()
        turns.read(now_ms)
        for lane, group in groupby(pieces, key=_lane_of):
            ready = self._ready()
            taken_from = self._lanes[lane]
            count = 0
            for piece in group:
                taken_from.queue.take(piece.number, piece.count)
                count += piece.count
            taken_from.starved_turns += turns.serve(lane, count, ready)
            taken_from.dequeued += count
            taken_from.last_served_ms = now_ms
            self._records -= count

    def drop(self, number: int, count: int = 1, lane: int | None = None) -> bool:
        """Removes records that left in another way; False if they are not there. Quicker if the lane is given."""
        lanes = self._lanes if lane is None else (self._lanes[lane],)
        dropped = any(each.queue.drop(number, count) for each in lanes)
        self._records -= count if dropped else 0
        return dropped

    def stretches(self) -> tuple[list[Stretch], ...]:
        """What is ready in each lane now, in order: for a thread."""
        return tuple(lane.queue.stretches() for lane in self._lanes)

    def statistics(self, now_ms: int) -> tuple[LaneStatistics, ...]:
        return tuple(_statistics(lane, now_ms) for lane in self._lanes)

    def encode(self) -> Iterator[bytes]:
        """Everything but the rules. The lanes must not change meanwhile."""
        turns = self._turns
        yield _HEAD.pack(self._order, turns.reading_ms, turns.last_read_ms)
        for lane, deficit, since in zip(self._lanes, turns.deficits, turns.waiting_since, strict=True):
            yield _LANE.pack(deficit, since, lane.last_served_ms, lane.enqueued, lane.dequeued, lane.starved_turns)
            yield from lane.queue.encode()

    @classmethod
    def decode(cls, data: Buffer, position: int, rules: LaneRules) -> tuple["Lanes", int]:
        """What `encode` gave, and where it ended. ValueError: it is something else."""
        lanes = cls(rules)
        turns = lanes._turns
        (lanes._order, turns.reading_ms, turns.last_read_ms), position = _unpack(_HEAD, data, position)
        for index, lane in enumerate(lanes._lanes):
            values, position = _unpack(_LANE, data, position)
            turns.deficits[index], turns.waiting_since[index] = values[:2]
            lane.last_served_ms, lane.enqueued, lane.dequeued, lane.starved_turns = values[2:]
            lane.queue, position = LaneQueue.decode(data, position)
            lanes._records += lane.queue.records
            if values[0] < 0 or lane.queue.records_before(lanes._order) < lane.queue.records:
                raise ValueError(f"lane {index} holds what was never ready")
        return lanes, position

    def _scheduled(self) -> Turns:
        """The turns under the rules of today."""
        self._turns.rules = self.rules
        return self._turns

    def _ready(self) -> list[int]:
        return [lane.queue.records for lane in self._lanes]

    def _cursors(self, end_order: int | None) -> list[_Cursor]:
        return [_Cursor(lane.queue.entries(), end_order) for lane in self._lanes]

    def _walk(self, cursors: Sequence[_Cursor], limits: _Limits, now_ms: int) -> list[Piece]:
        """Reads the lanes turn by turn, on a copy of the turns."""
        turns = self._turns.copy()
        turns.rules = self.rules
        turns.read(now_ms)
        pieces: list[Piece] = []
        ready = [cursor.settle() for cursor in cursors]
        starved = turns.starved(ready)
        while any(ready):
            lane = starved[0] if starved else turns.next_lane(ready)
            count = _read_turn(cursors[lane], lane, 1 if starved else turns.share(lane), limits, pieces)
            if not count:
                break
            turns.serve(lane, count, ready)
            ready[lane] = cursors[lane].left
            del starved[:1]
        return pieces

    def _order_after(self, count: int) -> int:
        """The least order before which `count` of the records became ready that are still here."""
        firsts = [first.order for lane in self._lanes if (first := lane.queue.first()) is not None]
        low = min(firsts, default=0) + count
        if self._before(low) >= count:
            return low
        # Records in between have gone; the number of those before rises with the order.
        orders = range(low, self._order + 1)
        return orders[bisect_left(orders, count, key=self._before)]

    def _before(self, order: int) -> int:
        return sum(lane.queue.records_before(order) for lane in self._lanes)


def _read_turn(cursor: _Cursor, lane: int, most: int, limits: _Limits, pieces: list[Piece]) -> int:
    """Adds the pieces of one turn, which is for `most` records; gives how many it came to."""
    read = 0
    while read < most and cursor.settle():
        count = limits.fit(min(cursor.left, most - read), cursor.size)
        if not count:
            break
        if not cursor.fresh and pieces and pieces[-1].lane == lane:
            # It goes on with the run that the last one is of.
            pieces[-1] = pieces[-1]._replace(count=pieces[-1].count + count)
        else:
            pieces.append(Piece(lane, cursor.number, count))
        cursor.read(count)
        read += count
    cursor.settle()
    return read


def _statistics(lane: _Lane, now_ms: int) -> LaneStatistics:
    first = lane.queue.first()
    age_ms = NEVER if first is None else max(now_ms - first.ready_ms, 0)
    return LaneStatistics(
        lane.queue.records, age_ms, lane.last_served_ms, lane.enqueued, lane.dequeued, lane.starved_turns
    )


def _unpack(layout: struct.Struct, data: Buffer, position: int) -> tuple[tuple[int, ...], int]:
    if position < 0 or position + layout.size > len(data):
        raise ValueError(f"{len(data) - position} bytes, where {layout.size} of a lane should stand")
    return layout.unpack_from(data, position), position + layout.size
