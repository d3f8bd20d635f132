"""The log of a partition: batches at consecutive offsets, in segments.

A `Log` is synchronous and belongs to one thread, the event loop; only what is marked [thread] may run elsewhere.
Appending writes, but does not sync: the loop must not wait for a disk. `capture_sync` says what has to be synced,
`SyncTicket.run` does it in a thread, `synced` notes it. Other blocking work is handed out as jobs by `maintenance`.

Invariants:
 1. `start_offset <= durable end <= end_offset`; all three only rise, except by truncation.
 2. The segments tile the offsets: each begins where the one before it ends. Only the last is written to.
 3. A batch is either wholly in the log and in everything that describes it (index, producer state, leader
    epochs, end), or in none of it. A failed append leaves the bytes as they were, or takes the log offline.
 4. Offsets given to clients are consecutive. Gaps come only from compaction, or from a leader that compacted.
 5. A snapshot describes a durable end. The newest whole one is the recovery point. Only `replace_segments` and
    truncation change what lies before it, and they first remove the snapshots that would no longer be true.
 6. A start offset is durable before anything below it is removed.
 7. The bytes that are read are the bytes that were written: never copied, converted or repaired on the way.
 8. After a failed sync nothing is appended until the tail was written and synced again (`reverify`).
 9. `settled end <= durable end`: up to the settled end the files are enough, from there on the journal is needed.
"""

import os
from collections.abc import Sequence

from engine.clock import Clock
from engine.errors import InvalidRecord, OffsetOutOfRange, RecordListTooLarge, StorageError
from engine.files.files import Buffer, File, Files
from engine.journal.format import LogJournal
from engine.log.following import FollowingLog
from engine.log.jobs import DurableStart, Job, LogLife, ReplaceJob, StartOffsetJob, SyncTicket, undurable_piece
from engine.log.producer_state import BatchMark, ProducerInfo
from engine.log.recovery import LogState, parents, recover
from engine.log.replacement import mark_gaps
from engine.log.segment import Segment
from engine.log.segments import SegmentList
from engine.log.set_aside import SetAside
from engine.log.tail import rewrite_tail
from engine.log.transactions import EndWatcher, Markers, Undecided, note_producer, parse_marker, stable_offset
from engine.log.types import (
    LogConfig,
    LogExtent,
    LogPosition,
    LogRead,
    Origin,
    Receipt,
    RecoveryReport,
    TimedOffset,
)
from engine.log.upkeep import Upkeep
from engine.log.validation import Piece, accept, is_ordinary, is_plain
from engine.records.batch import Batch, split
from engine.records.layout import (
    CONTROL_FLAG,
    HEADER_SIZE,
    NO_PRODUCER_ID,
    PREFIX,
    PREFIX_SIZE,
    BatchHeader,
)

__all__ = ["Log", "LogConfig", "LogPosition", "LogRead", "Receipt"]
__all__ += ["Origin", "ProducerInfo", "RecoveryReport", "SyncTicket", "TimedOffset"]


class Log(FollowingLog):
    """See the module. What can be asked of it stands in `LogView`."""

    def __init__(
        self,
        directory: str,
        files: Files,
        clock: Clock,
        config: LogConfig,
        name: str,
        state: LogState,
        journal: LogJournal | None,
    ) -> None:
        self.directory = directory
        self.name = name
        self._files = files
        self._clock = clock
        self._config = config
        self._journal = journal
        self._is_plain = is_plain(config)
        self._offline: str | None = None
        self._closed = False
        self._unsynced_directories: set[str] = set()
        self._end_watchers: dict[EndWatcher, None] = {}
        self._life = LogLife()
        self._adopt(state)

    @classmethod
    def open(
        cls,
        directory: str,
        *,
        files: Files,
        clock: Clock,
        config: LogConfig,
        clean: bool = False,
        name: str | None = None,
        journal: LogJournal | None = None,
        left: LogExtent | None = None,
    ) -> "Log":
        """[thread] Recovers what is on disk; `left` must be there. Nothing is created before the first append."""
        try:
            state = recover(directory, files, clock, config, clean=clean, journal=None if clean else journal, left=left)
        except OSError as error:
            raise StorageError(f"{directory} cannot be opened: {error}") from error
        return cls(directory, files, clock, config, name or os.path.basename(directory), state, journal)

    def _adopt(self, state: LogState) -> None:
        self._life = LogLife(self._life.states + 1)
        self._segments = SegmentList(state.segments)
        if self._segments.active is not None:
            # Recovery has synced it, and nobody may ever write to it.
            self._segments.active.let_go()
        self._producers = state.producers
        self._epochs = state.epochs
        self._note_gaps(state.gaps_allowed)
        self._exists = state.exists
        self.recovery = state.report
        self.start_offset = state.start_offset
        self.end_offset = state.end_offset
        self._durable_start = DurableStart(self._files, self.directory, self.start_offset)
        self._undecided = Undecided()
        self._unsynced: list[File] = []
        self._end: LogPosition | None = None
        self.durable_end = self.settled_end = self.end
        self._upkeep = Upkeep(
            self._files,
            self.directory,
            state.snapshots,
            state.recovery_point,
            self.synced,
            self.sync_failed,
        )
        self._upkeep.requested = state.report.scanned_bytes > 0

    # --- what it is -------------------------------------------------------------------------------------

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._is_plain = is_plain(config)
        self._producers.expiration_ms = config.producer_id_expiration_ms

    # --- append -----------------------------------------------------------------------------------------

    def append(self, records: Buffer, leader_epoch: int, *, origin: Origin = Origin.CLIENT) -> Receipt:
        """Appends one or more whole batches, all or none of them."""
        if self._offline is not None:
            raise StorageError(f"{self.name} is offline: {self._offline}")
        batches = split(records, origin)
        if not batches:
            raise InvalidRecord("no batch to append")
        if len(batches) == 1:
            return self.append_batch(batches[0], leader_epoch)
        return self._append(batches, leader_epoch, self._clock.now_ms())

    def append_batch(self, batch: Batch, leader_epoch: int) -> Receipt:
        """Appends one batch, as its origin has it done."""
        if self._offline is not None:
            raise StorageError(f"{self.name} is offline: {self._offline}")
        now_ms, segment = self._clock.now_ms(), self._segments.active
        may_be_plain = self._is_plain and batch.origin is Origin.CLIENT
        if may_be_plain and segment is not None and is_ordinary(batch, self._config, now_ms):
            receipt = self._append_plain(batch, segment, leader_epoch, now_ms)
            if receipt is not None:
                return receipt
        return self._append((batch,), leader_epoch, now_ms)

    def _append(self, batches: Sequence[Batch], leader_epoch: int, now_ms: int) -> Receipt:
        pieces, original = accept(batches, self._config, self._producers, self.end_offset, now_ms, self.name)
        if original is not None:
            base, last = original.base_offset, original.last_offset
            return Receipt(base, last, self._append_time(original), self.start_offset, duplicate=True)
        origin = batches[0].origin
        base_offset = self.end_offset if origin is not Origin.REPLICA else pieces[0][0].base_offset
        self._write(pieces, leader_epoch, origin, now_ms)
        append_time = now_ms if self._config.timestamp_type == "LogAppendTime" else -1
        return Receipt(base_offset, self.end_offset - 1, append_time, self.start_offset)

    def _append_plain(self, batch: Batch, segment: Segment, leader_epoch: int, now_ms: int) -> Receipt | None:
        """The usual case in a straight line: one ordinary batch that fits into the active segment.

        None, with nothing changed, where anything is unusual or wrong: the general path says what it is.
        """
        config = self._config
        header, data = batch.header, batch.data
        base_offset, size = self.end_offset, len(data)
        if not segment.has_room(config, size, base_offset + header.last_offset_delta, header.max_timestamp):
            return None
        producers = self._producers
        if header.producer_id != NO_PRODUCER_ID and producers.check(header, now_ms) is not None:
            return None
        prefix = PREFIX.pack(base_offset, header.length, leader_epoch)
        self._write_buffers(segment, [prefix, data[PREFIX_SIZE:]])
        segment.note_batch(header, base_offset, config.index_interval_bytes)
        epochs = self._epochs.entries
        if not epochs or leader_epoch != epochs[-1][0]:
            self._epochs.assign(leader_epoch, base_offset)
        if header.producer_id != NO_PRODUCER_ID:
            producers.update(header, base_offset, now_ms)
        self.end_offset = end_offset = base_offset + header.record_count
        self._end = None
        upkeep = self._upkeep
        upkeep.appended_bytes += size
        upkeep.appended_batches += 1
        return Receipt(base_offset, end_offset - 1, -1, self.start_offset)

    def _append_time(self, original: BatchMark) -> int:
        return original.timestamp_ms if self._config.timestamp_type == "LogAppendTime" else -1

    def _write(self, pieces: list[Piece], leader_epoch: int, origin: Origin, now_ms: int) -> None:
        buffers: list[Buffer] = []
        headers: list[BatchHeader] = []
        markers: Markers = {}
        offset = self.end_offset
        for header, rest in pieces:
            if origin is not Origin.REPLICA:
                header = BatchHeader(offset, header.length, leader_epoch, *header[3:])
            if header.attributes & CONTROL_FLAG:
                markers[header.base_offset] = parse_marker(header, rest[0][HEADER_SIZE - PREFIX_SIZE :])
            offset = header.next_offset
            headers.append(header)
            buffers.append(PREFIX.pack(header.base_offset, header.length, header.leader_epoch))
            buffers.extend(rest)
        total = sum(map(len, buffers))
        segment = self._segment_for(total, headers, origin, now_ms)
        try:
            if origin is Origin.REPLICA and offset - self.end_offset != sum(h.last_offset_delta + 1 for h in headers):
                self._mark_gaps()
            self._write_buffers(segment, buffers)
        except StorageError:
            if segment is not self._segments.active:
                self._discard(segment)
            raise
        self._note(segment, headers, markers, total, now_ms)

    def _segment_for(self, total: int, headers: list[BatchHeader], origin: Origin, now_ms: int) -> Segment:
        """The active segment, or a new one if the batches do not fit; not yet part of the log then."""
        if origin is Origin.CLIENT and total > self._config.segment_bytes:
            # What the broker itself appends was accepted before, maybe under a greater bound: it gets its own segment.
            raise RecordListTooLarge(f"{total} bytes exceed segment.bytes, {self._config.segment_bytes}")
        active = self._segments.active
        if active is not None and not active.must_roll(self._config, total, headers, now_ms):
            return active
        return self._create_segment(now_ms)

    def _create_segment(self, now_ms: int) -> Segment:
        segment = Segment(self._files, self.directory, self.end_offset, created_ms=now_ms)
        begun = False
        try:
            if not self._exists:
                self._files.make_directories(self.directory)
                # Other partitions may have made the parents and not synced them yet: sync them again.
                self._must_sync(*parents(self.directory))
                self._exists = True
            SetAside(self._files, self.directory).unknown(segment.path)
            begun = True
            segment.create_file()
        except OSError as error:
            if begun:
                self._discard(segment)
            raise StorageError(f"{self.name} cannot start a segment: {error}") from error
        return segment

    def _discard(self, segment: Segment) -> None:
        """A segment could not be begun. Were its file to stay, what the one before takes from now on would seem to lie
        behind its end (invariant 2)."""
        segment.close()
        # Durably, before anything more is acknowledged.
        self._must_sync(self.directory)
        try:
            self._files.unlink(segment.path)
        except OSError as error:
            self._offline = f"a segment that was not begun could not be removed: {error}"

    def _write_buffers(self, segment: Segment, buffers: list[Buffer]) -> None:
        try:
            file = segment.file()
        except OSError as error:
            raise StorageError(f"{self.name} cannot be opened: {error}") from error
        try:
            file.write(buffers, segment.size)
        except OSError as error:
            try:
                if segment is self._segments.active:
                    file.truncate(segment.size)
            except OSError as second:
                # invariant 3: there are bytes behind the end that do not belong there
                self._offline = f"a failed write could not be undone: {second}"
            raise StorageError(f"{self.name} cannot be written: {error}") from error

    def _mark_gaps(self) -> None:
        """A leader that compacted sends batches with gaps between them: recovery must know before it sees them."""
        if self._gaps_marked:
            return
        try:
            mark_gaps(self._files, self.directory)
        except OSError as error:
            raise StorageError(f"{self.name} cannot be written: {error}") from error
        self._must_sync(self.directory)
        self._note_gaps(True)

    def _note_gaps(self, marked: bool) -> None:
        self._gaps_marked = marked
        for segment in self._segments:
            segment.gapless = not marked

    def _note(self, segment: Segment, headers: list[BatchHeader], markers: Markers, total: int, now_ms: int) -> None:
        """Takes written batches into account: from here on they are part of the log."""
        if segment is not self._segments.active:
            self._activate(segment)
        interval = self._config.index_interval_bytes
        for header in headers:
            base_offset = header.base_offset
            assert base_offset >= self.end_offset  # invariant 4
            segment.note_batch(header, base_offset, interval)
            epochs = self._epochs.entries
            if not epochs or header.leader_epoch != epochs[-1][0]:
                self._epochs.assign(header.leader_epoch, base_offset)
            if header.producer_id != NO_PRODUCER_ID:
                assert segment.aborted is not None
                marker = markers.get(base_offset)
                ended = note_producer(segment.aborted, self._producers, header, marker, now_ms)
                if ended is not None:
                    self._undecided.add(ended)
            self.end_offset = base_offset + header.last_offset_delta + 1
        self._end = None
        self._upkeep.note_append(total, len(headers))
        if markers:
            self._tell_ends(headers[0].base_offset)

    def _activate(self, segment: Segment) -> None:
        assert segment.base_offset == self.end_offset  # invariant 2
        old = self._segments.active
        if old is not None:
            if self.end != self.settled_end:
                self._unsynced.append(old.file())
            old.stable_offset = stable_offset(self._producers, self.end_offset)
            self._upkeep.requested = True
        self._segments.activate(segment)
        segment.gapless = not self._gaps_marked
        self._must_sync(self.directory)
        self._end = None

    def roll(self) -> None:
        """Starts a new segment, unless the active one is empty."""
        active = self._segments.active
        if active is None or active.size > 0:
            self._activate(self._create_segment(self._clock.now_ms()))

    # --- durability -------------------------------------------------------------------------------------

    @property
    def dirty(self) -> bool:
        """Whether there is anything to sync."""
        return self.end != self.settled_end or bool(self._unsynced_directories)

    def _must_sync(self, *directories: str) -> None:
        """They have changed: tickets that were drawn before do not cover it."""
        self._unsynced_directories.update(directories)
        self._life = LogLife(self._life.states, self._life.changes + 1)

    def capture_sync(self) -> SyncTicket:
        """What to sync so that everything up to now is durable; every ticket stands for itself."""
        active, end = self._segments.active, self.end
        if self._closed:
            return SyncTicket((), (), end, self._files, self._life)
        sealed, directories = tuple(self._unsynced), tuple(self._unsynced_directories)
        if active is None or end == self.settled_end:
            return SyncTicket(sealed, directories, end, self._files, self._life, sealed)
        file = active.file_to_sync()
        piece = None if sealed or directories else undurable_piece(self.directory, file, self.durable_end, end)
        return SyncTicket((*sealed, file), directories, end, self._files, self._life, sealed, piece)

    def synced(self, ticket: SyncTicket, *, settled: bool = True) -> bool:
        """The ticket's run succeeded, or its piece is in the journal. False if the log was verified or cut since."""
        end, life = ticket.end, self._life
        if ticket.life.states != life.states:
            return False
        if settled:
            # What was the active segment then may have been written to since, and sealed.
            self._unsynced = [file for file in self._unsynced if file not in ticket.sealed]
            if ticket.life.changes == life.changes:
                self._unsynced_directories.difference_update(ticket.directories)
            if self.settled_end.offset <= end.offset <= self.end_offset:
                self.settled_end = end
        if self.durable_end.offset <= end.offset <= self.end_offset:
            self.durable_end = end
        return True

    def sync_failed(self, reason: str = "a sync failed") -> None:
        """Nothing is appended until `reverify` (invariant 8)."""
        self._offline = reason

    def reverify(self) -> None:
        """[thread] Writes and syncs the tail anew and recovers from disk; the log is online after it."""
        self._refuse_while_busy()
        try:
            if not self._is_half_cut:
                rewrite_tail(self._files, self.segments, self.settled_end)
            state = self._recover(self._journal)
        except OSError as error:
            raise StorageError(f"{self.name} stays offline: {error}") from error
        self._adopt(state)
        self._offline, self._is_half_cut = None, False

    def _recover(self, journal: LogJournal | None) -> LogState:
        return recover(self.directory, self._files, self._clock, self._config, clean=False, journal=journal)

    def _refuse_while_busy(self) -> None:
        if self._upkeep.busy:
            raise StorageError(f"{self.name} has background work under way; try again")

    # --- leader epochs ----------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int) -> None:
        """A leader starts to write: its epoch counts from here, even before its first batch."""
        if self._epochs.assign(epoch, self.end_offset) and self._exists:
            try:
                self._epochs.write(self._files, self.directory)
            except OSError as error:
                raise StorageError(f"{self.name} cannot note leader epoch {epoch}: {error}") from error

    # --- removal ----------------------------------------------------------------------------------------

    def delete_records(self, offset: int) -> int:
        """[blocking] Raises the start offset, durably, and drops whole segments below it."""
        job = self.delete_records_job(offset)
        job.run()
        job.finish()
        if job.error is not None:
            raise StorageError(f"{self.name} cannot delete records: {job.error}") from job.error
        return self.start_offset

    def delete_records_job(self, offset: int) -> StartOffsetJob:
        """The same as a job; see `deletion_jobs` (engine/log/deletion.py)."""
        if not 0 <= offset <= self.end_offset:
            raise OffsetOutOfRange(f"offset {offset} of {self.name} is not within [0, {self.end_offset}]")
        offset = max(offset, self.start_offset)
        # While segments are being replaced their files stay, and retention comes back for them.
        dropped = [] if self._upkeep.replacing else self._segments.below(offset)
        kept_from = self._upkeep.snapshot_segment if len(self._producers) else None
        job = StartOffsetJob(self._durable_start, self.capture_sync(), offset, dropped, self._start_raised, kept_from)
        self._upkeep.begin(job)
        return job

    def delete_segments_job(self, segments: Sequence[Segment]) -> StartOffsetJob:
        """Drops sealed segments from the front (retention); the start offset moves up to the next."""
        assert list(segments) == list(self._segments)[: len(segments)]
        assert 0 < len(segments) < len(self._segments)  # invariant 2: the active one keeps the end
        return self.delete_records_job(self._segments[len(segments)].base_offset)

    def _start_raised(self, job: StartOffsetJob) -> None:
        self._upkeep.end(job)
        if job.sync_failed:
            self.sync_failed(f"a sync failed: {job.error}")
        if not job.raised:
            return
        self.synced(job.ticket)
        self.start_offset = max(self.start_offset, job.offset)
        self._epochs.truncate_start(self.start_offset)
        present = [segment for segment in job.removed if segment in self._segments]
        if present:
            self._segments.replace(present, [])

    # --- maintenance ------------------------------------------------------------------------------------

    @property
    def maintenance_due(self) -> bool:
        """Whether `maintenance` would return anything; cheap enough to ask after every sync."""
        active = self._segments.active is not None and self._offline is None
        return active and self._upkeep.due and not self._upkeep.busy

    def maintenance(self) -> list[Job]:
        """Jobs to run in threads: indexes of sealed segments, and a snapshot."""
        if not self.maintenance_due:
            return []
        self._producers.expire(self._clock.now_ms())
        return self._upkeep.jobs(self._segments, self.capture_sync(), self._producers, self._epochs)

    def request_snapshot(self) -> None:
        """Makes a snapshot due, for `can_replace`."""
        self._upkeep.requested = True

    def can_replace(self, old: Sequence[Segment]) -> bool:
        """Whether these segments may be replaced: they are sealed, durable and lie before the recovery
        point (invariant 5), and no others are on their way out; if not, a snapshot is called for."""
        if self._upkeep.changing:
            return False
        number = list(self._segments).index(old[-1])
        end = self._segments.end_of(number)
        point = self._upkeep.recovery_point
        if end is None or end > self.settled_end.offset:
            return False
        if point is None or point.segment < end:
            self.request_snapshot()
            return False
        return True

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> ReplaceJob:
        """A job that puts `new` (written by `SegmentWriter`) in the place of `old`."""
        assert self.can_replace(old)
        end = self._segments.end_of(list(self._segments).index(old[-1]))
        assert end is not None
        void = self._upkeep.forget_snapshots(old[0].base_offset, end)
        job = ReplaceJob(self._files, self.directory, old, new, void, self._replaced)
        self._upkeep.begin(job)
        return job

    def _replaced(self, job: ReplaceJob) -> None:
        self._upkeep.end(job)
        if job.error is not None:
            # Whether the replacement was committed is for recovery to find out.
            self.sync_failed(f"a replacement failed: {job.error}")
            return
        self._segments.replace(job.old, job.new)
        self._note_gaps(True)
        for segment in job.old:
            segment.close()

    def close(self, *, clean: bool) -> None:
        """[thread] With `clean`, all is synced and a snapshot written: the next opening reads nothing."""
        if clean and self._segments.active is not None and self._offline is None:
            self._refuse_while_busy()
            self._upkeep.requested = True
            for job in self.maintenance():
                job.run()
                job.finish()
                if job.error is not None:
                    raise StorageError(f"{self.name} cannot be closed cleanly: {job.error}") from job.error
        self._segments.close()
        self._unsynced = []  # or the files stay open with whoever still knows this log
        self._closed = True
        self._offline = self._offline or "closed"

    def remove(self) -> None:
        """[thread] Deletes everything; may be repeated."""
        self._offline = "removed"
        self._closed = True
        self._segments.close()
        try:
            self._files.remove_tree(self.directory)
        except OSError as error:
            raise StorageError(f"{self.name} cannot be removed: {error}") from error
