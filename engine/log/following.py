"""A log that follows another node's: it takes batches as they are, and gives back what its leader has not got.

What is cut off is undone in everything that describes it: producer state, aborted transactions, leader epochs, indexes
and times, by recovering from what is left; and in the journal, of which nothing before the cut counts any more.
"""

from engine.errors import CorruptMessage, OffsetOutOfRange, StorageError
from engine.files.files import Buffer, Files
from engine.journal.format import LogJournal
from engine.log.jobs import SyncTicket
from engine.log.recovery import LogState, write_start_offset
from engine.log.segment import Segment
from engine.log.staged_producers import StagedProducers
from engine.log.tail import cut_tail, remove_all, void_journaled
from engine.log.types import LogPosition, Origin
from engine.log.validation import Piece, accept
from engine.records.batch import split
from engine.records.layout import whole_batches_size

BY_ITSELF = -1
"""The log rolls as its own configuration says."""


class FollowingLog(StagedProducers):
    """The part of a `Log` that only a follower needs."""

    directory: str
    _files: Files
    _journal: LogJournal | None
    _exists: bool
    _is_half_cut: bool = False
    """Whether a truncation has begun to remove files and was not finished: what is known of them is no longer true."""

    # -- what a Log does

    def _write(self, pieces: list[Piece], leader_epoch: int, origin: Origin, now_ms: int) -> None:
        raise NotImplementedError

    def _adopt(self, state: LogState) -> None:
        raise NotImplementedError

    def _recover(self, journal: LogJournal | None) -> LogState:
        raise NotImplementedError

    def _refuse_while_busy(self) -> None:
        raise NotImplementedError

    def _create_segment(self, now_ms: int) -> Segment:
        raise NotImplementedError

    def _activate(self, segment: Segment) -> None:
        raise NotImplementedError

    def capture_sync(self) -> SyncTicket:
        raise NotImplementedError

    def synced(self, ticket: SyncTicket, *, settled: bool = True) -> bool:
        raise NotImplementedError

    # -- appending

    def follow(self, records: Buffer, segment: int = BY_ITSELF) -> int:
        """Append the whole batches that `records` begins with, unchanged; the number of their bytes.

        Where the leader says in which of its segments they lie, they are put into one that begins at the same offset:
        places in the two files are the same then.
        """
        if self._offline is not None:
            raise StorageError(f"{self.name} is offline: {self._offline}")
        size = whole_batches_size(records)
        if not size:
            raise CorruptMessage(f"{self.name} was sent {len(records)} bytes and no whole batch")
        now_ms = self._clock.now_ms()
        batches = split(memoryview(records)[:size], Origin.REPLICA)
        pieces, _ = accept(batches, self._config, self._producers, self.end_offset, now_ms, self.name)
        if segment != BY_ITSELF:
            self._begin_segment(segment, now_ms)
        self._write(pieces, 0, Origin.REPLICA, now_ms)
        return size

    def _begin_segment(self, base_offset: int, now_ms: int) -> None:
        active = self._segments.active
        if active is not None and active.base_offset == base_offset:
            return
        if base_offset != self.end_offset:
            raise StorageError(
                f"{self.name} ends at {self.end_offset} and its leader's segment begins at {base_offset}"
            )
        self._activate(self._create_segment(now_ms))

    # -- truncation

    def truncate_to(self, offset: int) -> None:
        """[thread] Cuts the log back to the batch boundary at or before `offset`; for followers."""
        if offset >= self.end_offset:
            return
        if offset < self.start_offset:
            raise OffsetOutOfRange(f"{self.name} starts at {self.start_offset}, it cannot be cut to {offset}")
        self._refuse_while_busy()
        at, start = self.position_of(offset), self.position_of(self.start_offset)
        if (at.segment, at.position) == (start.segment, start.position):
            self.truncate_fully_and_start_at(offset)
            return
        if at.position == 0:
            # The segment before is the last then: whether another begins here is for the leader to say.
            at = self._end_before(at)
        self._cut_at(at)

    def has_empty_end(self, segment: int) -> bool:
        """Whether the last segment is empty and the leader goes on in an earlier one: somebody has begun it in vain."""
        active = self._segments.active
        return active is not None and active.size == 0 and segment < active.base_offset and len(self._segments) > 1

    def drop_empty_end(self) -> None:
        """[thread] Remove that segment; the one before is the last again."""
        self._refuse_while_busy()
        if self.has_empty_end(BY_ITSELF):
            self._cut_at(self._end_before(self.end))

    def _end_before(self, at: LogPosition) -> LogPosition:
        before = self._segments[self._segments.number_of(at.segment) - 1]
        return LogPosition(at.offset, before.base_offset, before.size)

    def _cut_at(self, at: LogPosition) -> None:
        try:
            # What is kept must not need the journal: from here on it does not count.
            self.capture_sync().run()
            void_journaled(self._files, self.directory, self._journal)
            self._is_half_cut = True
            cut_tail(self._files, self.directory, self.segments, self._upkeep.snapshots, at)
            state = self._recover(None)
        except (OSError, StorageError) as error:
            self._offline = f"a truncation failed: {error}"
            raise StorageError(f"{self.name} cannot be truncated: {error}") from error
        self._adopt(state)
        self._is_half_cut = False

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """[thread] Empties the log; the next batch gets `offset`."""
        self._refuse_while_busy()
        try:
            if self._exists:
                void_journaled(self._files, self.directory, self._journal)
                self._is_half_cut = True
                remove_all(self._files, self.directory, self.segments)
            producers = type(self._producers)(self._config.producer_id_expiration_ms)
            self._adopt(LogState([], producers, type(self._epochs)(), offset, offset))
            self._is_half_cut = False
            self._activate(self._create_segment(self._clock.now_ms()))
            ticket = self.capture_sync()
            ticket.run()
            write_start_offset(self._files, self.directory, offset)
        except (OSError, StorageError) as error:
            self._offline = f"a truncation failed: {error}"
            raise StorageError(f"{self.name} cannot be truncated: {error}") from error
        self.synced(ticket)
