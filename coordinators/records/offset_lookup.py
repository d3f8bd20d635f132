"""Where a partition begins, ends, or stood at a time.

A time gives the first record at or after it: the record, not its batch. In a prioritised partition the latest offset
counts the records that are ready and not yet in the log; a time that only such a record answers gives the least offset
that it can get, whatever the order will be (engine/stage/unread.py). Nobody misses what was acknowledged to it: records
that are written and not yet durable are waited for.
"""

from collections.abc import Coroutine, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any

from msgspec import Struct

from coordinators.records.directory import PartitionDirectory
from coordinators.waiting import in_worker, until_settled
from engine.clock import Clock
from engine.errors import BrokerError, OffsetNotAvailable, kept
from engine.log.types import LogPosition, TimedOffset
from engine.partition.durable_log import DurableLog
from engine.partition.partition import Partition
from engine.stage.unread import Unread, UnreadTime
from engine.workers import Workers

NONE = -1


class Spot(Enum):
    """A place in a partition that is not found by a time."""

    EARLIEST = "earliest"
    LATEST = "latest"
    """The end that readers of this isolation level are told."""
    GREATEST_TIME = "greatest time"
    """The first record with the greatest timestamp (KIP-734)."""
    TIERED_END = "tiered end"
    """Where that ends which was moved to other storage (KIP-1005): nothing is, so it is nowhere."""


class Sought(Struct, frozen=True):
    """What is asked of one partition: a spot, or a time in milliseconds."""

    topic: str
    index: int
    spot: Spot | int
    leader_epoch: int = NONE

    @property
    def is_search(self) -> bool:
        """Whether files have to be read for it."""
        return self.spot is Spot.GREATEST_TIME or not isinstance(self.spot, Spot)

    @property
    def depends_on_end(self) -> bool:
        """Whether records that are not durable yet may change the answer."""
        return self.is_search or self.spot is Spot.LATEST


class FoundOffset(Struct, frozen=True):
    """What was found; -1 for what does not exist or has no time, and an error where it could not be asked for."""

    offset: int = NONE
    timestamp_ms: int = NONE
    leader_epoch: int = NONE
    error: BrokerError | None = None


class _View(Struct, frozen=True):
    """A partition as the loop sees it: a thread that searches it looks at one instant, whatever moves meanwhile."""

    partition: Partition
    upto: LogPosition
    """Where readers of this isolation level end, in the log."""
    end: int
    """The end that they are told."""
    end_epoch: int
    unread: Unread | None
    """What is promised between the two, if times are asked for."""
    now_ms: int


class OffsetLookup:
    """The use case: one for all doors."""

    def __init__(self, directory: PartitionDirectory, clock: Clock, workers: Workers) -> None:
        self._directory = directory
        self._clock = clock
        self._workers = workers

    def find(
        self, sought: Sequence[Sought], *, committed: bool
    ) -> list[FoundOffset] | Coroutine[Any, Any, list[FoundOffset]]:
        """Each of them, in their order: from memory where that is possible; after syncs and in a thread where not."""
        unsynced = self._unsynced(sought)
        if unsynced or any(each.is_search for each in sought):
            return self._search(unsynced, sought, committed)
        return [_found(each, self._view(each, committed)) for each in sought]

    def _unsynced(self, sought: Sequence[Sought]) -> list[DurableLog]:
        """Logs with records that were acknowledged (acks=0 or 1) and are not durable yet."""
        found: list[DurableLog] = []
        for each in sought:
            if not each.depends_on_end:
                continue
            with suppress(BrokerError):
                partition = self._directory.find(each.topic, each.index)
                found += [log for log in partition.logs if log.has_unsynced]
        return found

    async def _search(
        self, unsynced: Sequence[DurableLog], sought: Sequence[Sought], committed: bool
    ) -> list[FoundOffset]:
        for log in unsynced:
            await until_settled(log, self._clock)
        views = [self._view(each, committed) for each in sought]
        if not any(each.is_search for each in sought):
            return [*map(_found, sought, views)]
        return await in_worker(self._workers, lambda: [*map(_found, sought, views)])

    def _view(self, sought: Sought, committed: bool) -> _View | FoundOffset:
        try:
            partition = self._directory.find(sought.topic, sought.index)
            partition.check_leader_epoch(sought.leader_epoch)
            if sought.depends_on_end and partition.is_settling:
                raise OffsetNotAvailable(f"{partition.log.name} has a new leader, which does not know its end yet")
        except BrokerError as error:
            return FoundOffset(error=kept(error))
        upto = partition.stable_end if committed else partition.high_watermark
        is_stable = upto.offset == partition.high_watermark.offset
        end, log_end = partition.reported_end if is_stable else upto.offset, partition.log.end_offset
        unread = None
        if sought.is_search and is_stable:
            unread = partition.unread()
        # What is promised beyond the log's end has no epoch yet: clients that compare would see a truncation.
        end_epoch = partition.leader_epoch if end <= log_end else NONE
        return _View(partition, upto, end, end_epoch, unread, self._clock.now_ms())


def _found(sought: Sought, view: _View | FoundOffset) -> FoundOffset:
    """[thread, if it is a search] What is sought; where there is no view, its refusal."""
    if isinstance(view, FoundOffset):
        return view
    log = view.partition.log
    if sought.spot is Spot.EARLIEST:
        return FoundOffset(log.start_offset, NONE, log.epoch_at(log.start_offset))
    if sought.spot is Spot.LATEST:
        return FoundOffset(view.end, NONE, view.end_epoch)
    if not sought.is_search:
        return FoundOffset()
    try:
        return _by_time(None if isinstance(sought.spot, Spot) else sought.spot, view)
    except BrokerError as error:
        return FoundOffset(error=kept(error))


def _by_time(time_ms: int | None, view: _View) -> FoundOffset:
    """[thread] The first record that is as late, or with the greatest timestamp where no time is given."""
    log = view.partition.log
    found = log.find_max_timestamp(view.upto) if time_ms is None else log.find_by_time(time_ms, view.upto)
    unread = None if view.unread is None else _find_unread(view.unread, view, time_ms, found)
    if unread is not None and unread.offset < view.end:
        return FoundOffset(*unread)
    if found is not None:
        return FoundOffset(found.offset, found.timestamp_ms, found.leader_epoch)
    return FoundOffset()


def _find_unread(unread: Unread, view: _View, time_ms: int | None, found: TimedOffset | None) -> UnreadTime | None:
    """[thread] What answers the question instead of the log: for a time only if the log has none, for the greatest
    timestamp if the log's is less."""
    if found is not None and time_ms is not None:
        return None
    if view.partition.log.config.timestamp_type == "LogAppendTime":
        # They get their times when they are read, from now on.
        is_later = time_ms is None or time_ms <= view.now_ms
        return UnreadTime(unread.first_offset(), view.now_ms) if is_later else None
    if time_ms is not None:
        return unread.find(time_ms)
    greatest_ms = unread.greatest_ms()
    if greatest_ms is None or (found is not None and greatest_ms <= found.timestamp_ms):
        return None
    return unread.find(greatest_ms)
