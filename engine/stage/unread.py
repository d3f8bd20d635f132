"""What is promised beyond a log's high watermark, as of one instant: for look-ups by time, which a thread makes while
the stage goes on changing.

The place of a record in a lane is decided only when somebody reads. But records of one lane keep their order. So the
first record of a given time comes after at least those that stand before it in its own lane. The smallest such place
over all lanes is the answer: no record of that time or later can get a place before it. Where everything that is ready
is in one lane, it is the exact place, the same before and after reading. A record that has expired leaves a hole, and
is passed over.
"""

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice, takewhile
from typing import NamedTuple

from attrs import frozen

from engine.errors import BrokerError
from engine.log.segment import Segment
from engine.records.layout import HEADER_SIZE, parse_header, walk_records
from engine.stage.events import Intent
from engine.stage.lane_queue import Stretch
from engine.stage.pending import PendingRow, PendingTable
from engine.stage.state import HOLE, READY

_NO_NUMBER = 2**63


class UnreadTime(NamedTuple):
    """From this offset on records of this time are met."""

    offset: int
    timestamp_ms: int


@frozen
class Unread:
    """See the module. Made on the loop, in little time; searched in a thread."""

    intents: Sequence[Intent]
    """Those whose records are not yet under the high watermark: they have their offsets already."""
    intended: Mapping[int, PendingRow]
    lanes: Sequence[Sequence[Stretch]]
    lanes_offset: int
    """The first offset that a record of a lane can get."""
    table: PendingTable
    segments: Mapping[int, Segment]
    is_over: Callable[[PendingRow], bool]
    """Whether its records have outlived their time."""

    def first_offset(self) -> int:
        """Where the first of it stands."""
        return self.intents[0].first_offset if self.intents else self.lanes_offset

    def find(self, timestamp_ms: int) -> UnreadTime | None:
        """[thread] From where on records are met that were created at this time or later; None if there are none."""
        return self._find_intended(timestamp_ms) or self._find_in_lanes(timestamp_ms)

    def greatest_ms(self) -> int | None:
        """[thread] The latest time that any of it was created at."""
        greatest = None
        for (_, number, count), row in self._pieces():
            greatest = self._greater(greatest, row, number, count)
        bounds = self.table.created_bounds()
        ends = [number for number, _ in bounds[1:]] + [_NO_NUMBER]
        # The stretches with the latest ones first: mostly the others need not be looked through.
        for (start, bound), end in sorted(zip(bounds, ends, strict=True), key=lambda each: each[0][1], reverse=True):
            if greatest is not None and bound <= greatest:
                break
            for row in takewhile(lambda row, end=end: row.number < end, self.table.rows(start)):  # type: ignore[misc]
                if row.state == READY:
                    greatest = self._greater(greatest, row, row.number + row.skip, row.count - row.skip)
        return greatest

    def _greater(self, known: int | None, row: PendingRow, number: int, count: int) -> int | None:
        """The later of what is known, and of the latest of these records."""
        if (known is not None and row.created_ms <= known) or self.is_over(row):
            return known
        latest = max(self._created(row, number, count))
        return latest if known is None else max(known, latest)

    def _pieces(self) -> Iterator[tuple[tuple[int, int, int], PendingRow]]:
        """What is on its way: offset, number and count of each piece, and its row."""
        for intent in self.intents:
            offset = intent.first_offset
            for piece in intent.pieces:
                if piece.lane < HOLE:
                    yield (offset, piece.number, piece.count), self.intended[piece.number]
                offset += piece.count

    def _find_intended(self, timestamp_ms: int) -> UnreadTime | None:
        for (offset, number, count), row in self._pieces():
            found = self._find_in_row(row, number, count, timestamp_ms)
            if found is not None:
                return UnreadTime(offset + found[0], found[1])
        return None

    def _find_in_lanes(self, timestamp_ms: int) -> UnreadTime | None:
        bounds = self.table.created_bounds()
        is_late = [bound >= timestamp_ms for _, bound in bounds]
        if not any(is_late):
            return None
        starts = [number for number, _ in bounds]
        best: UnreadTime | None = None
        # Nearest to the front first, so that nothing behind the answer is looked at.
        for place, number, count in merge(*map(_entries, self.lanes)):
            offset = self.lanes_offset + place
            if best is not None and offset >= best.offset:
                break
            row = self.table.get(number) if is_late[bisect_right(starts, number) - 1] else None
            found = None if row is None else self._find_ready(row, number, count, timestamp_ms)
            if found is not None and (best is None or offset + found[0] < best.offset):
                best = UnreadTime(offset + found[0], found[1])
        return best

    def _find_ready(self, row: PendingRow, number: int, count: int, timestamp_ms: int) -> tuple[int, int] | None:
        return self._find_in_row(row, number, count, timestamp_ms) if row.state == READY else None

    def _find_in_row(self, row: PendingRow, number: int, count: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Of `count` records of a row from `number` on: the place of the first match among them, and its time."""
        if row.created_ms < timestamp_ms or self.is_over(row):
            return None
        created = enumerate(self._created(row, number, count))
        return next(((place, created_ms) for place, created_ms in created if created_ms >= timestamp_ms), None)

    def _created(self, row: PendingRow, number: int, count: int) -> Sequence[int]:
        """When `count` records of a row from `number` on were created."""
        if row.count == 1:
            return (row.created_ms,)
        try:
            batch = self.segments[row.segment].file().pread(row.size, row.position)
            header = parse_header(batch)
            spans = walk_records(memoryview(batch)[HEADER_SIZE:], header.record_count)
            times = [header.base_timestamp + span.timestamp_delta for span in spans]
        except (BrokerError, OSError, KeyError, struct.error):
            # It was released and its segment dropped since, or it is damaged: from its first record on it is met.
            return (row.created_ms,)
        return times[number - row.number :][:count]


class _Entry(NamedTuple):
    """Of a lane: how many records stand before it, its number, and how many records it has."""

    place: int
    number: int
    count: int  # type: ignore[assignment]


def _entries(lane: Sequence[Stretch]) -> Iterator[_Entry]:
    place = 0
    for numbers, counts, head in lane:
        for number, count in islice(zip(numbers, counts, strict=True), head, None):
            yield _Entry(place, number, count)
            place += count
