"""What can be asked of a log: its offsets, its batches, its times, transactions and leader epochs.

`Log` is this and the writing. Nothing here changes what the log holds.
"""

from collections.abc import Iterable, Sequence

from engine.errors import OffsetOutOfRange, StorageError
from engine.files.files import File, FileRegion
from engine.log.aborted_index import AbortedTransaction
from engine.log.leader_epochs import LeaderEpochs
from engine.log.producer_room import ProducerRoom
from engine.log.producer_state import ProducerInfo, ProducerState
from engine.log.segment import Segment
from engine.log.segments import SegmentList
from engine.log.time_search import find_by_time, find_max_timestamp
from engine.log.transactions import EndWatcher, Undecided, aborted_transactions
from engine.log.types import LogExtent, LogPosition, LogRead, TimedOffset
from engine.log.upkeep import Upkeep


class LogView:
    """The readable side of a `Log`; see there for who may call what from where."""

    name: str
    start_offset: int
    end_offset: int
    _segments: SegmentList
    _producers: ProducerState
    _epochs: LeaderEpochs
    _undecided: Undecided
    _end_watchers: dict[EndWatcher, None]
    _offline: str | None
    _end: LogPosition | None
    _upkeep: Upkeep

    @property
    def end(self) -> LogPosition:
        """Where the next batch goes."""
        if self._end is None:
            active = self._segments.active
            base, size = (active.base_offset, active.size) if active else (self.end_offset, 0)
            self._end = LogPosition(self.end_offset, base, size)
        return self._end

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    @property
    def extent(self) -> LogExtent:
        """How much it holds."""
        return LogExtent(self.end_offset, len(self._segments), self.size_bytes)

    @property
    def segments(self) -> Sequence[Segment]:
        """All segments; the last one is active."""
        return tuple(self._segments)

    @property
    def snapshot_offset(self) -> int:
        """Up to where the newest snapshot knows the producers; -1 if there is none."""
        point = self._upkeep.recovery_point
        return -1 if point is None else point.offset

    @property
    def active_segment(self) -> Segment | None:
        """The one that is written to."""
        return self._segments.active

    @property
    def offline(self) -> str | None:
        """Why nothing can be appended; None when all is well."""
        return self._offline

    @property
    def latest_epoch(self) -> int:
        return self._epochs.latest

    def producers(self) -> Iterable[ProducerInfo]:
        return self._producers.describe()

    def share_producers(self, room: ProducerRoom) -> None:
        """Count the producers that are remembered among all that the broker remembers."""
        self._producers.share(room)

    # --- read -------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, upto: LogPosition, *, at_least_one: bool) -> LogRead:
        """A slice from the batch that holds `offset` (or the next one, in a gap), never past `upto`."""
        if not self.start_offset <= offset <= upto.offset:
            raise self._out_of_range(offset, upto)
        segments = self._segments
        active = segments.active
        try:
            if active is not None and active.base_offset == upto.segment <= offset < upto.offset:
                # Mostly it is the end that is read, and that lies in the segment that is written to.
                found = active.locate(offset)
                if found is not None and found[0] < upto.position:
                    return self._slice(active.file(), found, max_bytes, upto.position, at_least_one)
            number = segments.number_of(offset)
            while offset < upto.offset and number < len(segments):
                segment = segments[number]
                found = segment.locate(offset)
                limit = segments.limit(number, upto)
                if found is not None and found[0] < limit:
                    return self._slice(segment.file(), found, max_bytes, limit, at_least_one)
                number += 1
        except FileNotFoundError:
            # Segments below a start offset that is just being raised go first.
            raise self._out_of_range(offset, upto) from None
        except OSError as error:
            raise StorageError(f"{self.name} cannot be read: {error}") from error
        return LogRead((), 0, self.start_offset)

    def _out_of_range(self, offset: int, upto: LogPosition) -> OffsetOutOfRange:
        return OffsetOutOfRange(f"offset {offset} of {self.name} is not within [{self.start_offset}, {upto.offset}]")

    def _slice(self, file: File, found: tuple[int, int], max_bytes: int, limit: int, at_least_one: bool) -> LogRead:
        position, first_size = found
        size = min(max_bytes, limit - position)
        if at_least_one and size < first_size:
            size = first_size
        if size <= 0:
            return LogRead((), 0, self.start_offset)
        return LogRead((FileRegion(file, position, size),), size, self.start_offset)

    def segment_file(self, segment: int) -> File:
        """The file of the segment with this base offset."""
        found = self._segments[self._segments.number_of(segment)]
        if found.base_offset != segment:
            raise StorageError(f"{self.name} has no segment {segment}")
        try:
            return found.file()
        except OSError as error:
            raise StorageError(f"{self.name} cannot be read: {error}") from error

    def read_at(self, segment: int, position: int, size: int) -> bytes:
        """Bytes of the segment with this base offset; fewer if it ends before."""
        try:
            return self.segment_file(segment).pread(size, position)
        except OSError as error:
            raise StorageError(f"{self.name} cannot be read: {error}") from error

    def segment_of(self, offset: int) -> int:
        """Where the segment begins that holds `offset`."""
        return self._segments[self._segments.number_of(offset)].base_offset

    def position_of(self, offset: int) -> LogPosition:
        """The start of the batch that holds `offset`, or of the next one; the end if there is none."""
        try:
            return self._segments.position_of(offset) or self.end
        except OSError as error:
            raise StorageError(f"{self.name} cannot be read: {error}") from error

    def size_from(self, offset: int) -> int:
        """About how many bytes it holds from `offset` on; nothing is read for it. Within a segment all records count
        alike."""
        size = 0
        for number in range(self._segments.number_of(offset), len(self._segments)):
            segment = self._segments[number]
            end = self._segments.end_of(number) or self.end_offset
            first, count = max(offset, segment.base_offset), end - segment.base_offset
            size += segment.size * max(end - first, 0) // count if count > 0 else 0
        return size

    def find_by_time(self, timestamp_ms: int, upto: LogPosition) -> TimedOffset | None:
        """[thread] The first record, from the start of the log, that is as late as `timestamp_ms`."""
        return find_by_time(tuple(self._segments), timestamp_ms, self.start_offset, upto.offset)

    def find_max_timestamp(self, upto: LogPosition) -> TimedOffset | None:
        """[thread] The first record with the greatest timestamp."""
        return find_max_timestamp(tuple(self._segments), self.start_offset, upto.offset)

    # --- transactions -----------------------------------------------------------------------------------

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the earliest transaction began that is open, or whose marker may still be lost."""
        first_open, first_ended = self._producers.first_open_offset(), self._undecided.first_offset()
        if first_open is None or first_ended is None:
            return first_ended if first_open is None else first_open
        return min(first_open, first_ended)

    @property
    def is_decided(self) -> bool:
        """Whether there is no such transaction at all, as there mostly is not."""
        return not (self._undecided or self._producers.any_open)

    def passed(self, high_watermark: int) -> None:
        """The high watermark has moved: markers below it are certain."""
        if self._undecided:
            self._undecided.passed(high_watermark)

    def watch_ends(self, watcher: EndWatcher) -> None:
        """Tell `watcher` of every transaction that ends here from now on, whoever writes its marker."""
        self._end_watchers[watcher] = None

    def unwatch_ends(self, watcher: EndWatcher) -> None:
        """Stop telling it."""
        self._end_watchers.pop(watcher, None)

    def _tell_ends(self, since_offset: int) -> None:
        for ended in self._undecided.since(since_offset) if self._end_watchers else ():
            for watcher in tuple(self._end_watchers):
                watcher(ended)

    def knows_producer(self, producer_id: int) -> bool:
        """Whether anything is remembered of this producer."""
        return self._producers.knows(producer_id)

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether this producer has written in a transaction that has not ended."""
        return self._producers.has_open_transaction(producer_id, epoch)

    def has_open_transaction_of(self, producer_id: int) -> bool:
        """Whether this producer has written in a transaction that has not ended, in whatever epoch."""
        return self._producers.is_open(producer_id)

    def aborted_transactions(self, from_offset: int, upto_offset: int) -> list[AbortedTransaction]:
        """Those with records in [from, upto), by their markers' order."""
        try:
            number = self._segments.number_of(from_offset)
            return aborted_transactions(tuple(self._segments), number, from_offset, upto_offset)
        except OSError as error:
            raise StorageError(f"{self.name} cannot be read: {error}") from error

    def offset_bound(self, offset: int, size: int, upto: LogPosition) -> int:
        """An offset that `size` bytes from the batch that holds `offset` do not go beyond; they are not read."""
        active = self._segments.active
        bound = None if active is None else active.recent_bound(offset, size)
        if bound is not None:
            return min(bound, upto.offset)
        number = self._segments.number_of(offset)
        segment = self._segments[number]
        found = segment.locate(offset)
        if found is None:
            return upto.offset
        relative = segment.loaded_index().find_position(found[0] + size)
        end = self._segments.end_of(number) if relative is None else segment.base_offset + relative
        return upto.offset if end is None else min(end, upto.offset)

    # --- leader epochs ----------------------------------------------------------------------------------

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) as OffsetForLeaderEpoch answers; (-1, -1) if unknown."""
        return self._epochs.end_offset_for(epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote `offset`; -1 if that is unknown."""
        return max((epoch for epoch, start in self._epochs.entries if start <= offset), default=-1)
