"""Many staged records at once: listed, counted, and their contents read.

A stage may hold a million rows: they are walked on the loop in slices, and others go on in between. What comes or goes
meanwhile may be seen or not. Contents are read in a worker thread, for the disk may be slow.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappush, heappushpop
from typing import Literal, NamedTuple, TypeAlias

import trio
from attrs import define, field, frozen

from coordinators.release.lookup import ahead_ms, due_wall_ms, is_delayed, state_of
from coordinators.release.pending_records import Header, PendingPage, PendingRecord, StateName
from coordinators.waiting import in_worker
from engine.errors import InvalidRequest, StorageError
from engine.files.files import File
from engine.partition.staging import Staging
from engine.records.layout import HEADER_SIZE, RecordSpan, parse_header, walk_records
from engine.stage.pending import PendingRow
from engine.stage.state import NONE
from engine.workers import Workers

Order: TypeAlias = Literal["due", "number"]

SLICE_ROWS = 400
"""How many rows, a microsecond or two each, are walked in one go."""
LIMIT_MAX = 1_000
SORTED_MAX = 10_000
"""In order of due time no more than this may be skipped and listed: the earliest are kept sorted meanwhile."""
PAGE_BYTES = 8 * 1024 * 1024
SCHEDULE_ID = b"tide-schedule-id"


@frozen
class Window:
    """Which records a caller wants to see: due from one time up to another, and how many of them."""

    limit: int = 100
    skip: int = 0
    order: Order = "due"
    due_from_ms: int | None = None
    due_until_ms: int | None = None

    def check(self) -> None:
        """InvalidRequest names what cannot be."""
        if not 0 < self.limit <= LIMIT_MAX:
            raise InvalidRequest(f"limit must be 1 to {LIMIT_MAX}, not {self.limit}")
        if self.skip < 0:
            raise InvalidRequest(f"skip must not be negative, and is {self.skip}")
        if self.order not in ("due", "number"):
            raise InvalidRequest(f"order must be due or number, not {self.order!r}")
        if self.order == "due" and self.skip + self.limit > SORTED_MAX:
            raise InvalidRequest(
                f"in order of due time at most {SORTED_MAX} records can be skipped and listed: go on with due_from, "
                "or list in order=number"
            )

    def holds(self, due_ms: int) -> bool:
        """Whether a record due then is wanted."""
        if self.due_from_ms is not None and due_ms < self.due_from_ms:
            return False
        return self.due_until_ms is None or due_ms < self.due_until_ms


class _Place(NamedTuple):
    """A row that will be shown, if it is still there."""

    number: int
    staging: Staging


def delayed_rows(stages: Iterable[Staging]) -> Iterator[tuple[Staging, PendingRow, int] | None]:
    """What waits for its time, with when it is due by the wall clock; None after every slice: time for others."""
    walked = 0
    for staging in stages:
        ahead = ahead_ms(staging.stage)
        for row in staging.stage.state.table.rows():
            walked += 1
            if walked % SLICE_ROWS == 0:
                yield None
            if is_delayed(row):
                yield staging, row, due_wall_ms(row, ahead)


async def count(stages: Sequence[Staging]) -> int:
    """How many records wait for their time, exactly."""
    counts = [0]
    await count_between(stages, lambda _: 0, counts)
    return counts[0]


async def count_between(stages: Sequence[Staging], place_of: Callable[[int], int], counts: list[int]) -> None:
    """Count each record at the place in `counts` that `place_of` gives for its due time."""
    for found in delayed_rows(stages):
        if found is None:
            await trio.lowlevel.checkpoint()
            continue
        _, row, due_ms = found
        counts[place_of(due_ms)] += row.count - row.skip


async def page(stages: Sequence[Staging], window: Window, workers: Workers) -> PendingPage:
    """The wanted records, in order of due time (then partition and number) or of partition and number."""
    window.check()
    total, places = await _walk(stages, window)
    records: list[PendingRecord] = []
    taken = size = 0
    for place in places:
        if size >= PAGE_BYTES:
            break
        taken += 1
        shown = await shown_record(place.staging, place.number, workers)
        if shown is not None:
            records.append(shown[0])
            size += len(shown[0].key or b"") + sum(len(h.name) + len(h.value or b"") for h in shown[0].headers)
    next_skip = window.skip + taken
    return PendingPage(tuple(records), total, next_skip if taken and next_skip < total else None)


async def _walk(stages: Sequence[Staging], window: Window) -> tuple[int, list[_Place]]:
    """How many there are, and the places of those on the page."""
    total = 0
    kept = _Earliest(window) if window.order == "due" else _InTurn(window)
    for found in delayed_rows(stages):
        if found is None:
            await trio.lowlevel.checkpoint()
            continue
        staging, row, due_ms = found
        if window.holds(due_ms):
            kept.see(total, due_ms, staging, row)
            total += 1
    by_index = {staging.partition.index: staging for staging in stages}
    return total, [_Place(number, by_index[index]) for index, number in kept.places()]


@define(eq=False)
class _Earliest:
    """Keeps those that are due first: a heap with the latest of them on top, which makes room for an earlier one."""

    window: Window
    _heap: list[tuple[int, int, int]] = field(factory=list)

    def see(self, _place: int, due_ms: int, staging: Staging, row: PendingRow) -> None:
        item = (-due_ms, -staging.partition.index, -row.number)
        if len(self._heap) < self.window.skip + self.window.limit:
            heappush(self._heap, item)
        elif item > self._heap[0]:
            heappushpop(self._heap, item)

    def places(self) -> list[tuple[int, int]]:
        return [(-index, -number) for _, index, number in sorted(self._heap, reverse=True)[self.window.skip :]]


@define(eq=False)
class _InTurn:
    """Keeps those of the page, as they come."""

    window: Window
    _places: list[tuple[int, int]] = field(factory=list)

    def see(self, place: int, _due_ms: int, staging: Staging, row: PendingRow) -> None:
        if 0 <= place - self.window.skip < self.window.limit:
            self._places.append((staging.partition.index, row.number))

    def places(self) -> list[tuple[int, int]]:
        return self._places


# -- contents


async def shown_record(
    staging: Staging, number: int, workers: Workers, row: PendingRow | None = None
) -> tuple[PendingRecord, bytes | None] | None:
    """A record as callers are shown it, and its value; None if it has gone. `row` is that of one which has left the
    table and is on its way."""
    found = row or staging.stage.state.table.get(number)
    state: StateName | None = "releasing" if row is not None else found and state_of(found)
    if found is None or state is None:
        return None
    span, created_ms = await in_worker(workers, _read, _file_of(staging, found), found, number)
    ahead = ahead_ms(staging.stage)
    headers = tuple(
        Header(bytes(name).decode(errors="backslashreplace"), None if value is None else bytes(value))
        for name, value in span.headers
    )
    record = PendingRecord(
        partition=staging.partition.index,
        id=_id_of(span, found, number),
        number=number,
        state=state,
        due_ms=due_wall_ms(found, ahead) if found.due_ms != NONE else created_ms,
        created_ms=created_ms,
        expires_ms=None if found.expires_ms == NONE else found.expires_ms,
        ttl_ms=None if found.ttl_ms == NONE else found.ttl_ms,
        lane=found.lane,
        size_bytes=found.size if found.count == 1 else span.end - span.start,
        key=None if span.key is None else bytes(span.key),
        headers=headers,
    )
    return record, None if span.value is None else bytes(span.value)


def _file_of(staging: Staging, row: PendingRow) -> File:
    """The file that holds the row. A reference to it outlives the segment, should that go meanwhile."""
    for segment in staging.store.log.segments:
        if segment.base_offset == row.segment:
            try:
                return segment.file()
            except OSError as error:
                raise StorageError(f"{staging.store.log.name} cannot be read: {error}") from error
    raise StorageError(f"{staging.store.log.name} lacks the segment {row.segment}")


def _read(file: File, row: PendingRow, number: int) -> tuple[RecordSpan, int]:
    """[thread] The record and its create time."""
    try:
        data = file.pread(row.size, row.position)
    except OSError as error:
        raise StorageError(f"a staged record cannot be read: {error}") from error
    if len(data) != row.size:
        raise StorageError(f"{len(data)} bytes of a staged record of {row.size} can be read")
    if row.count == 1:
        return next(walk_records(data, 1)), row.created_ms
    header = parse_header(data)
    for index, span in enumerate(walk_records(memoryview(data)[HEADER_SIZE:], header.record_count)):
        if row.number + index == number:
            return span, header.base_timestamp + span.timestamp_delta
    raise StorageError(f"record {number} is not in its batch of {header.record_count}")


def _id_of(span: RecordSpan, row: PendingRow, number: int) -> str:
    if row.id_hash:
        for name, value in span.headers:
            if bytes(name) == SCHEDULE_ID and value is not None:
                return bytes(value).decode(errors="backslashreplace")
    return f"#{number}"
