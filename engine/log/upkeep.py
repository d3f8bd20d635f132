"""A log's upkeep: when indexes and snapshots are written, and the jobs that do it.

A snapshot is due after some MiB or batches, at a roll, and at a clean close. It and the indexes of sealed
segments are captured on the loop, written in a thread.
"""

from collections.abc import Callable, Iterator

from engine.files.files import Files
from engine.log.index import ENTRY_SIZE
from engine.log.jobs import Job, ReplaceJob, SealJob, SnapshotJob, StartOffsetJob, SyncTicket
from engine.log.leader_epochs import LeaderEpochs
from engine.log.producer_state import ProducerState
from engine.log.segment import Segment
from engine.log.segments import SegmentList
from engine.log.snapshot import KEPT, Snapshot
from engine.log.types import LogPosition

SNAPSHOT_BYTES = 16 * 1024 * 1024
SNAPSHOT_BATCHES = 10_000


class Upkeep:
    """See the module. `synced` and `sync_failed` are the log's own."""

    def __init__(
        self,
        files: Files,
        directory: str,
        snapshots: list[int],
        recovery_point: LogPosition | None,
        synced: Callable[[SyncTicket], object],
        sync_failed: Callable[[str], None],
    ) -> None:
        self._files = files
        self._directory = directory
        self.snapshots = snapshots
        self.recovery_point = recovery_point
        self.requested = False
        self._synced = synced
        self._sync_failed = sync_failed
        self.appended_bytes = 0
        """Since the last snapshot, as `appended_batches` is. The log adds to them for each batch."""
        self.appended_batches = 0
        self._running: set[Job] = set()

    @property
    def busy(self) -> bool:
        """Whether jobs are under way."""
        return bool(self._running)

    @property
    def replacing(self) -> bool:
        """Whether segments are about to be replaced: nobody else may remove files then."""
        return any(isinstance(job, ReplaceJob) for job in self._running)

    @property
    def changing(self) -> bool:
        """Whether segments are about to be replaced or removed."""
        return any(isinstance(job, ReplaceJob | StartOffsetJob) for job in self._running)

    def begin(self, job: Job) -> None:
        self._running.add(job)

    def end(self, job: Job) -> None:
        self._running.discard(job)

    def snapshot_segment(self) -> int:
        """[thread] In which segment the newest snapshot ends that is on disk; -1 if there is none."""
        written = [job.snapshot.end for job in tuple(self._running) if isinstance(job, SnapshotJob) and job.written]
        point = self.recovery_point
        return max((end.segment for end in (*written, *([point] if point is not None else []))), default=-1)

    def forget_snapshots(self, start: int, end: int) -> list[int]:
        """Those of segments that are about to be replaced, but for the recovery point: they must be removed."""
        point = self.recovery_point
        void = [each for each in self.snapshots if start <= each <= end and (point is None or each != point.offset)]
        self.snapshots = [each for each in self.snapshots if each not in void]
        return void

    @property
    def due(self) -> bool:
        return self.requested or self.appended_bytes >= SNAPSHOT_BYTES or self.appended_batches >= SNAPSHOT_BATCHES

    def note_append(self, size: int, batches: int) -> None:
        self.appended_bytes += size
        self.appended_batches += batches

    def jobs(
        self,
        segments: SegmentList,
        ticket: SyncTicket,
        producers: ProducerState,
        epochs: LeaderEpochs,
    ) -> list[Job]:
        """Indexes of sealed segments, then a snapshot."""
        jobs: list[Job] = list(self._seal_jobs(segments))
        assert segments.active is not None
        snapshot = _capture(segments.active, ticket.end, producers, epochs)
        jobs.append(self._snapshot_job(segments.active, snapshot, ticket))
        self._running.update(jobs)
        self.requested = False
        self.appended_bytes = self.appended_batches = 0
        return jobs

    def _seal_jobs(self, segments: SegmentList) -> Iterator[SealJob]:
        for segment in segments.sealed():
            if segment.index is not None and segment.aborted is not None and not segment.index_saved:
                content = segment.index.seal(segment.trailer())
                yield SealJob(segment, content, self._sealed)

    def _sealed(self, job: SealJob) -> None:
        self._running.discard(job)
        if job.sync_failed:
            self._sync_failed(f"a sync failed: {job.error}")
        elif job.error is None:
            job.segment.release()

    def _snapshot_job(self, active: Segment, snapshot: Snapshot, ticket: SyncTicket) -> SnapshotJob:
        start = min(active.saved_entries, snapshot.index_entries)
        content = bytes(active.loaded_index().entries[start * ENTRY_SIZE :])
        known = [offset for offset in self.snapshots if offset != snapshot.end.offset]
        return SnapshotJob(
            self._files,
            self._directory,
            ticket,
            snapshot,
            active,
            content,
            start,
            known[: -(KEPT - 1)],
            self._snapshot_written,
        )

    def _snapshot_written(self, job: SnapshotJob) -> None:
        self._running.discard(job)
        if job.sync_failed:
            self._sync_failed(f"a sync failed: {job.error}")
            return
        if job.synced:
            self._synced(job.ticket)
        if job.error is not None:
            self.requested = True
            return
        end = job.snapshot.end
        kept = [offset for offset in self.snapshots if offset not in job.obsolete and offset != end.offset]
        self.snapshots = [*kept, end.offset]
        self.recovery_point = end


def _capture(active: Segment, end: LogPosition, producers: ProducerState, epochs: LeaderEpochs) -> Snapshot:
    index = active.loaded_index()
    return Snapshot(
        end,
        len(index),
        index.checksum(len(index)),
        active.max_timestamp,
        active.max_timestamp_position,
        active.first_timestamp,
        producers.encode(),
        LeaderEpochs(list(epochs.entries)),
        bytes(active.aborted.content) if active.aborted is not None else b"",
    )
