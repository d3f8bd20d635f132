"""The log of a partition: batches at consecutive offsets, in segments.

A `Log` is synchronous and belongs to one thread, the event loop; only what is marked [thread] may run
elsewhere. Writing is not durable until a sync: `capture_sync` says what to sync, `SyncTicket.run` does it in
a thread, `synced` notes it. Blocking work is handed out as jobs by `maintenance`.

Invariants:
 1. `start_offset <= durable end <= end_offset`; all three only rise, except by truncation.
 2. The segments tile the offsets: each one's base offset is the end of the one before. Only the last is
    written to.
 3. A batch is either wholly in the log and in everything that describes it (index, producer state, leader
    epochs, end), or in none of it. A failed append leaves the bytes as they were, or takes the log offline.
 4. Offsets given to clients are consecutive. Gaps come only from compaction, or from a leader that compacted.
 5. A snapshot describes a durable end. The newest whole one is the recovery point; nothing before it changes
    but by `replace_segments` and truncation, which first remove the snapshots that they would contradict.
 6. A start offset is durable before anything below it is removed.
 7. The bytes that are read are the bytes that were written: never copied, converted or repaired on the way.
 8. After a failed sync nothing is appended until the tail was written and synced again (`reverify`).
"""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from engine.clock import Clock
from engine.errors import InvalidRecord, OffsetOutOfRange, RecordListTooLarge, StorageError
from engine.files import Buffer, File, FileRegion, Files
from engine.index import ENTRY_SIZE
from engine.log_jobs import Job, SealJob, SnapshotJob, StartOffsetJob, SyncTicket
from engine.log_types import (
    AppendResult,
    LogConfig,
    LogPosition,
    LogRead,
    Origin,
    RecoveryReport,
    TimedOffset,
)
from engine.producer_state import BatchMark, ProducerInfo
from engine.records import NO_PRODUCER_ID, PREFIX, PREFIX_SIZE, BatchHeader, split_batches
from engine.recovery import LogState, recover, remove_segment_files, write_start_offset
from engine.segment import MAX_RELATIVE_OFFSET, Segment
from engine.snapshot import Snapshot, remove_snapshots
from engine.time_search import find_by_time, find_max_timestamp
from engine.validation import Piece, check_client, check_intact, prepare

__all__ = [
    "AppendResult",
    "Log",
    "LogConfig",
    "LogPosition",
    "LogRead",
    "Origin",
    "ProducerInfo",
    "RecoveryReport",
    "SyncTicket",
    "TimedOffset",
]

SNAPSHOT_BYTES = 4 * 1024 * 1024
SNAPSHOT_BATCHES = 10_000


class Log:
    """See the module."""

    def __init__(
        self, directory: str, files: Files, clock: Clock, config: LogConfig, name: str, state: LogState
    ) -> None:
        self.directory = directory
        self.name = name
        self._files = files
        self._clock = clock
        self._config = config
        self._offline: str | None = None
        self._running: set[str] = set()
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
    ) -> "Log":
        """[thread] Recovers what is on disk. Nothing is created before the first append."""
        try:
            state = recover(directory, files, clock, config, clean=clean)
        except OSError as error:
            raise StorageError(f"{directory} cannot be opened: {error}") from error
        return cls(directory, files, clock, config, name or os.path.basename(directory), state)

    def _adopt(self, state: LogState) -> None:
        self._state = state
        self._segments = state.segments
        self._bases = [segment.base_offset for segment in state.segments]
        self._active = state.segments[-1] if state.segments else None
        self._producers = state.producers
        self._epochs = state.epochs
        self.recovery = state.report
        self.start_offset = state.start_offset
        self.end_offset = state.end_offset
        self._sealed_bytes = sum(segment.size for segment in state.segments[:-1])
        self._exists = state.exists
        self._unsynced: list[tuple[Segment, File]] = []
        self._unsynced_directories: set[str] = set()
        self._end: LogPosition | None = None
        self.durable_end = self.end
        self._snapshot_bytes = state.report.scanned_bytes
        self._snapshot_batches = 0
        self._snapshot_due = state.report.scanned_bytes > 0

    # --- what it is -------------------------------------------------------------------------------------

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self._producers.expiration_ms = config.producer_id_expiration_ms

    @property
    def end(self) -> LogPosition:
        """Where the next batch goes."""
        if self._end is None:
            active = self._active
            base, size = (active.base_offset, active.size) if active else (self.end_offset, 0)
            self._end = LogPosition(self.end_offset, base, size)
        return self._end

    @property
    def size_bytes(self) -> int:
        return self._sealed_bytes + (self._active.size if self._active else 0)

    @property
    def segments(self) -> Sequence[Segment]:
        """All segments; the last one is active."""
        return self._segments

    @property
    def offline(self) -> str | None:
        """Why nothing can be appended; None when all is well."""
        return self._offline

    @property
    def latest_epoch(self) -> int:
        return self._epochs.latest

    def producers(self) -> Iterable[ProducerInfo]:
        return self._producers.describe()

    # --- append -----------------------------------------------------------------------------------------

    def append(self, records: Buffer, leader_epoch: int, *, origin: Origin = Origin.CLIENT) -> AppendResult:
        """Appends one or more whole batches, all or none of them."""
        if self._offline is not None:
            raise StorageError(f"{self.name} is offline: {self._offline}")
        now_ms = self._clock.now_ms()
        batches = split_batches(records)
        if not batches:
            raise InvalidRecord("no batch to append")
        original, pieces = self._validate(batches, origin, now_ms)
        if original is not None:
            return AppendResult(
                original.base_offset,
                original.last_offset,
                self._append_time(original),
                self.start_offset,
                True,
            )
        base_offset = self.end_offset if origin is not Origin.REPLICA else pieces[0][0].base_offset
        self._write(pieces, leader_epoch, origin, now_ms)
        append_time = now_ms if self._config.timestamp_type == "LogAppendTime" else -1
        return AppendResult(base_offset, self.end_offset - 1, append_time, self.start_offset)

    def _append_time(self, original: BatchMark) -> int:
        return original.timestamp_ms if self._config.timestamp_type == "LogAppendTime" else -1

    def _validate(
        self, batches: list[tuple[BatchHeader, memoryview]], origin: Origin, now_ms: int
    ) -> tuple[BatchMark | None, list[Piece]]:
        """The batches as they will be stored; or the original, if this is an idempotent retry."""
        config = self._config
        pieces: list[Piece] = []
        expected = self.end_offset
        for header, batch in batches:
            check_intact(header, batch, config)
            if origin is Origin.REPLICA:
                if header.base_offset < expected:
                    raise OffsetOutOfRange(
                        f"a replica appends offset {header.base_offset}, {expected} is next"
                    )
                expected = header.next_offset
                pieces.append((header, (batch[PREFIX_SIZE:],)))
                continue
            if origin is Origin.CLIENT:
                check_client(header, batch, config, now_ms, self.name)
                if header.producer_id != NO_PRODUCER_ID:
                    if len(batches) > 1:
                        raise InvalidRecord("an idempotent producer sends one batch at a time")
                    original = self._producers.check(header, now_ms)
                    if original is not None:
                        return original, []
            pieces.append(prepare(header, batch, config, now_ms))
        return None, pieces

    def _write(self, pieces: list[Piece], leader_epoch: int, origin: Origin, now_ms: int) -> None:
        buffers: list[Buffer] = []
        headers: list[BatchHeader] = []
        offset = self.end_offset
        for header, rest in pieces:
            if origin is not Origin.REPLICA:
                header = header._replace(base_offset=offset, leader_epoch=leader_epoch)
            offset = header.next_offset
            headers.append(header)
            buffers.append(PREFIX.pack(header.base_offset, header.length, header.leader_epoch))
            buffers.extend(rest)
        total = sum(map(len, buffers))
        segment = self._segment_for(total, headers, now_ms)
        self._write_buffers(segment, buffers)
        self._note(segment, headers, total, now_ms)

    def _segment_for(self, total: int, headers: list[BatchHeader], now_ms: int) -> Segment:
        """The active segment, or a new one if the batches do not fit; not yet part of the log then."""
        if total > self._config.segment_bytes:
            raise RecordListTooLarge(f"{total} bytes exceed segment.bytes, {self._config.segment_bytes}")
        active = self._active
        if active is not None and not self._must_roll(active, total, headers, now_ms):
            return active
        return self._create_segment(now_ms)

    def _must_roll(self, active: Segment, total: int, headers: list[BatchHeader], now_ms: int) -> bool:
        if headers[-1].last_offset - active.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if active.size == 0:
            return False
        config = self._config
        if active.size + total > config.segment_bytes:
            return True
        if active.first_timestamp >= 0:
            return headers[-1].max_timestamp - active.first_timestamp > config.segment_ms
        return now_ms - active.created_ms > config.segment_ms

    def _create_segment(self, now_ms: int) -> Segment:
        segment = Segment(self._files, self.directory, self.end_offset, created_ms=now_ms)
        try:
            if not self._exists:
                self._files.make_directories(self.directory)
                # Other partitions may have made the parents and not synced them yet: sync them again.
                parent = os.path.dirname(self.directory)
                self._unsynced_directories |= {parent, os.path.dirname(parent)} - {""}
                self._exists = True
            segment.create_file()
        except OSError as error:
            raise StorageError(f"{self.name} cannot start a segment: {error}") from error
        return segment

    def _write_buffers(self, segment: Segment, buffers: list[Buffer]) -> None:
        try:
            segment.file().write(buffers, segment.size)
        except OSError as error:
            try:
                segment.file().truncate(segment.size)
            except OSError as second:
                # invariant 3: there are bytes behind the end that do not belong there
                self._offline = f"a failed write could not be undone: {second}"
            raise StorageError(f"{self.name} cannot be written: {error}") from error

    def _note(self, segment: Segment, headers: list[BatchHeader], total: int, now_ms: int) -> None:
        """Takes written batches into account: from here on they are part of the log."""
        if segment is not self._active:
            self._activate(segment)
        interval = self._config.index_interval_bytes
        for header in headers:
            base_offset = header.base_offset
            assert base_offset >= self.end_offset  # invariant 4
            if base_offset != self.end_offset:
                self._state.gaps = True
            segment.note_batch(header, base_offset, interval)
            if header.leader_epoch != self._epochs.latest:
                self._epochs.assign(header.leader_epoch, base_offset)
            if header.producer_id != NO_PRODUCER_ID:
                self._producers.update(header, base_offset, now_ms)
            self.end_offset = base_offset + header.last_offset_delta + 1
        self._end = None
        self._snapshot_bytes += total
        self._snapshot_batches += len(headers)

    def _activate(self, segment: Segment) -> None:
        assert segment.base_offset == self.end_offset  # invariant 2
        old = self._active
        if old is not None:
            self._unsynced.append((old, old.file()))
            self._sealed_bytes += old.size
            old.seal()
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self._active = segment
        self._unsynced_directories.add(self.directory)
        self._snapshot_due = True
        self._end = None

    def roll(self) -> None:
        """Starts a new segment, unless the active one is empty."""
        if self._active is None or self._active.size > 0:
            self._activate(self._create_segment(self._clock.now_ms()))

    # --- durability -------------------------------------------------------------------------------------

    @property
    def dirty(self) -> bool:
        """Whether there is anything to sync."""
        return self.end != self.durable_end or bool(self._unsynced_directories)

    def capture_sync(self) -> SyncTicket:
        """What to sync so that everything up to now is durable; every ticket stands for itself."""
        files = [file for _, file in self._unsynced]
        if self._active is not None and self.end != self.durable_end:
            files.append(self._active.file())
        return SyncTicket(tuple(files), tuple(self._unsynced_directories), self.end, self._files)

    def synced(self, ticket: SyncTicket) -> None:
        """The ticket's run succeeded."""
        self._unsynced = [item for item in self._unsynced if item[1] not in ticket.files]
        self._unsynced_directories.difference_update(ticket.directories)
        if ticket.end.offset >= self.durable_end.offset and ticket.end.offset <= self.end_offset:
            self.durable_end = ticket.end

    def sync_failed(self, reason: str = "a sync failed") -> None:
        """Nothing is appended until `reverify` (invariant 8)."""
        self._offline = reason

    def reverify(self) -> None:
        """[thread] Checks the tail again, writes and syncs it anew; the log is online after it."""
        try:
            self._rewrite_tail()
            state = recover(self.directory, self._files, self._clock, self._config, clean=False)
        except OSError as error:
            raise StorageError(f"{self.name} stays offline: {error}") from error
        self._adopt(state)
        self._offline = None

    def _rewrite_tail(self) -> None:
        """A failed sync leaves pages that look written and are not: the bytes past the durable end are
        written again through a new descriptor."""
        for segment in list(self._segments):
            segment.close()
            if segment.base_offset + 0 < self.durable_end.segment or segment.size == 0:
                continue
            start = self.durable_end.position if segment.base_offset == self.durable_end.segment else 0
            file = self._files.open(segment.path)
            file.truncate(segment.size)
            for position in range(start, segment.size, 1 << 20):
                piece = file.pread(min(1 << 20, segment.size - position), position)
                file.write([piece], position)
            file.sync()
            file.close()

    # --- read -------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, upto: LogPosition, *, at_least_one: bool) -> LogRead:
        """A slice from the batch that holds `offset` (or the next one, in a gap), never past `upto`."""
        if not self.start_offset <= offset <= upto.offset:
            raise OffsetOutOfRange(
                f"offset {offset} of {self.name} is not within [{self.start_offset}, {upto.offset}]"
            )
        number = bisect_right(self._bases, offset) - 1
        while offset < upto.offset and number < len(self._segments):
            segment = self._segments[max(number, 0)]
            try:
                found = segment.locate(offset)
                limit = self._limit(number, segment, upto)
                file = segment.file()
            except OSError as error:
                raise StorageError(f"{self.name} cannot be read: {error}") from error
            if found is not None and found[0] < limit:
                return self._slice(file, found, max_bytes, limit, at_least_one)
            number += 1
        return LogRead((), 0, self.start_offset)

    def _slice(
        self, file: File, found: tuple[int, int], max_bytes: int, limit: int, at_least_one: bool
    ) -> LogRead:
        position, first_size = found
        size = min(max_bytes, limit - position)
        if at_least_one and size < first_size:
            size = first_size
        if size <= 0:
            return LogRead((), 0, self.start_offset)
        return LogRead((FileRegion(file, position, size),), size, self.start_offset)

    def _limit(self, number: int, segment: Segment, upto: LogPosition) -> int:
        """Where reading this segment ends. `upto` may be older than a compaction: its offset counts."""
        if segment is self._active:
            if upto.segment == segment.base_offset:
                return upto.position
        elif self._bases[number + 1] <= upto.offset:
            return segment.size
        elif upto.segment == segment.base_offset and not segment.cleaned:
            return min(upto.position, segment.size)
        found = segment.locate(upto.offset) if upto.offset > segment.base_offset else (0, 0)
        return found[0] if found else segment.size

    def position_of(self, offset: int) -> LogPosition:
        """The start of the batch that holds `offset`, or of the next one; the end if there is none."""
        number = max(bisect_right(self._bases, offset) - 1, 0)
        for segment in self._segments[number:]:
            found = segment.locate(offset)
            if found is not None:
                return LogPosition(offset, segment.base_offset, found[0])
        return self.end

    def find_by_time(self, timestamp_ms: int, upto: LogPosition) -> TimedOffset | None:
        """[thread] The first record, from the start of the log, that is as late as `timestamp_ms`."""
        return find_by_time(tuple(self._segments), timestamp_ms, self.start_offset, upto.offset)

    def find_max_timestamp(self, upto: LogPosition) -> TimedOffset | None:
        """[thread] The first record with the greatest timestamp."""
        return find_max_timestamp(tuple(self._segments), self.start_offset, upto.offset)

    # --- leader epochs ----------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int) -> None:
        """A leader starts to write: its epoch counts from here, even before its first batch."""
        if self._epochs.assign(epoch, self.end_offset) and self._exists:
            try:
                self._epochs.write(self._files, self.directory)
            except OSError as error:
                raise StorageError(f"{self.name} cannot note leader epoch {epoch}: {error}") from error

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) as OffsetForLeaderEpoch answers; (-1, -1) if unknown."""
        return self._epochs.end_offset_for(epoch, self.end_offset)

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
        if offset > self.end_offset or offset < 0:
            raise OffsetOutOfRange(f"offset {offset} of {self.name} is not within [0, {self.end_offset}]")
        return StartOffsetJob(self.capture_sync(), offset, self._write_start, self._start_raised)

    def _write_start(self, offset: int) -> None:
        if offset > self.start_offset:
            write_start_offset(self._files, self.directory, offset)

    def _start_raised(self, job: StartOffsetJob) -> None:
        if job.sync_failed:
            self.sync_failed(f"a sync failed: {job.error}")
        if job.error is not None:
            return
        self.synced(job.ticket)
        self.start_offset = max(self.start_offset, job.offset)
        self._epochs.truncate_start(self.start_offset)
        self._drop_below_start()

    def _drop_below_start(self) -> None:
        count = 0
        while count + 1 < len(self._segments) and self._bases[count + 1] <= self.start_offset:
            count += 1
        dropped = self._segments[:count]
        del self._segments[:count], self._bases[:count]
        for segment in dropped:
            self._sealed_bytes -= segment.size
            self._unsynced = [item for item in self._unsynced if item[0] is not segment]
            remove_segment_files(segment)

    # --- maintenance ------------------------------------------------------------------------------------

    @property
    def maintenance_due(self) -> bool:
        """Whether `maintenance` would return anything; cheap enough to ask after every sync."""
        if self._active is None or self._offline is not None:
            return False
        return self._snapshot_due or (
            self._snapshot_bytes >= SNAPSHOT_BYTES or self._snapshot_batches >= SNAPSHOT_BATCHES
        )

    def maintenance(self) -> list[Job]:
        """Jobs to run in a thread, in this order: indexes of sealed segments, then a snapshot."""
        if not self.maintenance_due or self._running:
            return []
        self._producers.expire(self._clock.now_ms())
        jobs: list[Job] = list(self._seal_jobs())
        jobs.append(self._snapshot_job())
        return jobs

    def _seal_jobs(self) -> Iterator[SealJob]:
        for segment in self._segments[:-1]:
            if segment.index is not None and not segment.index_saved:
                content = segment.index.seal(segment.trailer())
                self._running.add(segment.path)
                yield SealJob(segment, segment.file(), content, self._sealed)

    def _sealed(self, job: SealJob) -> None:
        self._running.discard(job.segment.path)
        job.segment.release()

    def _snapshot_job(self) -> SnapshotJob:
        active = self._active
        assert active is not None
        index = active.loaded_index()
        count = len(index)
        snapshot = Snapshot(
            self.end,
            count,
            index.checksum(count),
            active.max_timestamp,
            active.max_timestamp_position,
            active.first_timestamp,
            self._state.gaps,
            self._producers.encode(),
            type(self._epochs)(list(self._epochs.entries)),
        )
        start = min(active.saved_entries, count)
        content = bytes(index.entries[start * ENTRY_SIZE :])
        self._running.add("snapshot")
        self._snapshot_due = False
        self._snapshot_bytes = self._snapshot_batches = 0
        known = [offset for offset in self._state.snapshots if offset != self.end_offset]
        return SnapshotJob(
            self._files,
            self.directory,
            self.capture_sync(),
            snapshot,
            active,
            content,
            start,
            known,
            self._snapshot_written,
        )

    def _snapshot_written(self, job: SnapshotJob) -> None:
        self._running.discard("snapshot")
        if job.sync_failed:
            self.sync_failed(f"a sync failed: {job.error}")
            return
        self.synced(job.ticket)
        if job.error is not None:
            self._snapshot_due = True
            return
        kept = [offset for offset in job.old_snapshots if offset not in job.removed]
        self._state.snapshots = [*kept, job.snapshot.end.offset]

    def close(self, *, clean: bool) -> None:
        """[thread] With `clean`, everything is synced and a snapshot written: the next opening reads nothing."""
        if clean and self._active is not None and self._offline is None:
            self._snapshot_due = True
            self._running.clear()
            for job in self.maintenance():
                job.run()
                job.finish()
                if job.error is not None:
                    raise StorageError(f"{self.name} cannot be closed cleanly: {job.error}") from job.error
        for segment in self._segments:
            segment.close()
        self._offline = self._offline or "closed"

    def remove(self) -> None:
        """[thread] Deletes everything; may be repeated."""
        self._offline = "removed"
        for segment in self._segments:
            segment.close()
        try:
            self._files.remove_tree(self.directory)
        except OSError as error:
            raise StorageError(f"{self.name} cannot be removed: {error}") from error

    # --- truncation -------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> None:
        """[thread] Cuts the log back to the batch boundary at or before `offset`; for followers."""
        if offset >= self.end_offset:
            return
        if offset < self.start_offset:
            raise OffsetOutOfRange(f"{self.name} starts at {self.start_offset}, it cannot be cut to {offset}")
        at = self.position_of(offset)
        try:
            self._cut(at)
            state = recover(self.directory, self._files, self._clock, self._config, clean=False)
        except OSError as error:
            self._offline = f"a truncation failed: {error}"
            raise StorageError(f"{self.name} cannot be truncated: {error}") from error
        self._adopt(state)

    def _cut(self, at: LogPosition) -> None:
        """Removes what lies at `at` and later; the snapshots that describe it go first (invariant 5)."""
        void = [known for known in self._state.snapshots if known > at.offset]
        remove_snapshots(self._files, self.directory, void)
        self._files.sync_directory(self.directory)
        for segment in self._segments[bisect_right(self._bases, at.segment) :]:
            remove_segment_files(segment)
        segment = self._segments[bisect_right(self._bases, at.segment) - 1]
        file = segment.file()
        file.truncate(at.position)
        file.sync()
        segment.files.unlink(segment.index_path)
        self._files.sync_directory(self.directory)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """[thread] Empties the log; the next batch gets `offset`."""
        try:
            remove_snapshots(self._files, self.directory, self._state.snapshots)
            for segment in self._segments:
                remove_segment_files(segment)
            self._segments.clear()
            self._bases.clear()
            self._active = None
            self._state.snapshots = []
            self.start_offset = self.end_offset = offset
            self._sealed_bytes = 0
            self._unsynced = []
            self._producers = type(self._producers)(self._config.producer_id_expiration_ms)
            self._epochs.entries.clear()
            self._activate(self._create_segment(self._clock.now_ms()))
            self.capture_sync().run()
            write_start_offset(self._files, self.directory, offset)
        except OSError as error:
            self._offline = f"a truncation failed: {error}"
            raise StorageError(f"{self.name} cannot be truncated: {error}") from error
        self._unsynced_directories.clear()
        self.durable_end = self.end
