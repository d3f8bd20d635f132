"""Carries compaction out: finds the dirtiest partitions, takes each through its pass, several at a time.

A pass is a chain of steps: in a thread the map, then per group the writing; on the loop the commit of each group, so
that it never meets a removal or a roll half done; at the end, in a thread, the checkpoint.
"""

from collections.abc import Callable
from weakref import WeakKeyDictionary, WeakSet

from attrs import define, frozen

from engine.cleaner.compaction import Compaction, SegmentGroup
from engine.cleaner.dirtiness import CompactionView, Dirtiness, dirtiness, read_checkpoint, write_checkpoint
from engine.cleaner.offset_map import DEFAULT_BYTES
from engine.cleaner.throttle import Stopped, Throttle
from engine.cleaner.transactions import detached
from engine.clock import Clock
from engine.errors import BrokerError, CorruptMessage
from engine.log.types import UNLIMITED
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.workers import Workers

MakeThrottle = Callable[[Callable[[], bool]], Throttle]

# Of the sealed segments the latest may not lie before the recovery point yet; these many are left for the next time.
LEFT_MOST = 4


@frozen
class DirtyPartition:
    """A partition that is due."""

    partition: Partition
    dirt: Dirtiness

    @property
    def urgency(self) -> tuple[bool, float]:
        return self.dirt.overdue, self.dirt.ratio


@define(eq=False)
class Pass:
    """A partition on its way."""

    partition: Partition
    work: Compaction
    groups: int = 0
    freed_bytes: int = 0


class Compactor:
    """See the module. `busy` is shared with retention: a partition in it is left alone."""

    def __init__(
        self,
        partitions: Partitions,
        workers: Workers,
        clock: Clock,
        make_throttle: MakeThrottle,
        busy: set[Partition],
        is_stopped: Callable[[], bool],
        *,
        together: int = 1,
        map_bytes: int = DEFAULT_BYTES,
    ) -> None:
        self._partitions = partitions
        self._workers = workers
        self._clock = clock
        self._make_throttle = make_throttle
        self._busy = busy
        self._together = together
        self._map_bytes = map_bytes
        self._looking = False
        self._passes: set[Pass] = set()
        self._cleaned_to: WeakKeyDictionary[Partition, int | None] = WeakKeyDictionary()
        self._last_markers: WeakKeyDictionary[Partition, dict[int, int]] = WeakKeyDictionary()
        self._postponed: WeakSet[Partition] = WeakSet()
        self._damaged: WeakSet[Partition] = WeakSet()
        self._finished = 0
        self._freed_bytes = 0
        self._is_stopped = is_stopped

    @property
    def idle(self) -> bool:
        return not self._looking and not self._passes

    def statistics(self) -> dict[str, int]:
        return {
            "running": len(self._passes),
            "passes": self._finished,
            "freed_bytes": self._freed_bytes,
            "damaged": len(self._damaged),
        }

    # -- finding

    def check(self) -> None:
        """Look for partitions that are due, and begin with the dirtiest."""
        self._postponed.clear()
        self._find()

    def _find(self) -> None:
        if self._looking or self._is_stopped() or len(self._passes) >= self._together:
            return
        views = []
        for partition in self._partitions:
            if partition.log.config.cleanup_compact and self._is_free(partition):
                self._roll_if_overdue(partition)
                if (view := self._view(partition)) is not None:
                    views.append((partition, view))
        if views:
            self._looking = True
            self._workers.submit(lambda: self._look(views), self._looked)

    def _is_free(self, partition: Partition) -> bool:
        left_alone = partition in self._busy or partition in self._postponed or partition in self._damaged
        return partition.offline is None and not left_alone and bool(partition.log.segments)

    def _roll_if_overdue(self, partition: Partition) -> None:
        """An active segment is never compacted: one whose records must be by now is closed, even if nobody writes."""
        log = partition.log
        lag_ms = log.config.max_compaction_lag_ms
        first_ms = log.segments[-1].first_timestamp
        if lag_ms == UNLIMITED or first_ms < 0 or partition.last_stable_offset < log.end_offset:
            return
        if first_ms < self._clock.now_ms() - lag_ms:
            try:
                log.roll()
            except BrokerError as error:
                self._partitions.log_error(f"{log.name} cannot be prepared for compaction: {error}")

    def _view(self, partition: Partition) -> CompactionView | None:
        """The sealed segments that the log lets us replace; it is asked to get ready for those that it does not."""
        log = partition.log
        for left in range(1, LEFT_MOST + 1):
            segments = log.segments[:-left]
            if segments and log.can_replace(segments):
                end = log.segments[-left].base_offset
                return CompactionView(
                    tuple(segments), end, log.start_offset, log.end_offset, partition.last_stable_offset, log.config
                )
            # Nobody else would: maintenance follows writes, and this log may never be written again.
            self._partitions.run_jobs(partition, log.maintenance())
        return None

    def _look(self, views: list[tuple[Partition, CompactionView]]) -> list[DirtyPartition]:
        """[thread]"""
        now_ms = self._clock.now_ms()
        found = []
        for partition, view in views:
            try:
                dirt = dirtiness(view, self._checkpoint(partition), now_ms)
            except (OSError, BrokerError) as error:
                if not partition.removed:
                    self._partitions.log_error(f"compaction cannot look at {partition.log.name}: {error}")
                continue
            if dirt.is_due(view.config):
                found.append(DirtyPartition(partition, dirt))
        return sorted(found, key=lambda candidate: candidate.urgency, reverse=True)

    def _checkpoint(self, partition: Partition) -> int | None:
        if partition not in self._cleaned_to:
            self._cleaned_to[partition] = read_checkpoint(self._partitions.files, partition.log.directory)
        return self._cleaned_to[partition]

    def _looked(self, found: list[DirtyPartition] | None, error: BaseException | None) -> None:
        self._looking = False
        if error is not None:
            self._partitions.log_error(f"compaction failed: {error}")
        for candidate in found or ():
            free = self._is_free(candidate.partition) and not self._is_stopped()
            if free and len(self._passes) < self._together:
                self._begin(candidate)

    # -- a pass

    def _begin(self, candidate: DirtyPartition) -> None:
        partition, log = candidate.partition, candidate.partition.log
        producers = {producer.producer_id: producer for producer in log.producers()}
        last_markers = self._last_markers.get(partition, {})
        work = Compaction(
            files=self._partitions.files,
            directory=log.directory,
            dirt=candidate.dirt,
            config=log.config,
            now_ms=self._clock.now_ms(),
            producers=producers,
            copies=[detached(segment) for segment in log.segments],
            throttle=self._make_throttle(lambda: self._is_stopped() or partition.removed),
            capacity_bytes=self._map_bytes,
            last_markers={key: offset for key, offset in last_markers.items() if key in producers},
        )
        this = Pass(partition, work)
        self._passes.add(this)
        self._busy.add(partition)
        self._submit(this, work.build_map, lambda _: self._next(this))

    def _submit(self, this: Pass, work: Callable[[], object], then: Callable[[object], object]) -> None:
        def done(result: object, error: BaseException | None) -> None:
            if error is None:
                then(result)
            else:
                self._end(this, error)

        self._workers.submit(work, done)

    def _next(self, this: Pass) -> None:
        def then(group: object) -> None:
            if isinstance(group, SegmentGroup):
                self._commit(this, group)
            else:
                self._submit(this, lambda: self._note(this), lambda _: self._end(this, None))

        self._submit(this, this.work.next_group, then)

    def _commit(self, this: Pass, group: SegmentGroup) -> None:
        partition, log = this.partition, this.partition.log
        present = set(group.old) <= set(log.segments)
        if partition.offline is not None or self._is_stopped() or not present or not log.can_replace(group.old):
            self._give_up(this, group, Stopped())
            return
        try:
            job = log.replace_segments(group.old, group.new)
        except (OSError, BrokerError) as error:
            self._give_up(this, group, error)
            return

        def then() -> None:
            if job.error is not None:
                self._end(this, Stopped())
                return
            this.groups += 1
            this.freed_bytes += group.freed_bytes
            self._next(this)

        self._partitions.run_jobs(partition, [job], then)

    def _give_up(self, this: Pass, group: SegmentGroup, error: BaseException) -> None:
        self._submit(this, group.abandon, lambda _: self._end(this, error))

    def _note(self, this: Pass) -> None:
        """[thread]"""
        write_checkpoint(self._partitions.files, this.partition.log.directory, this.work.cleaned_to)
        self._cleaned_to[this.partition] = this.work.cleaned_to

    def _end(self, this: Pass, error: BaseException | None) -> None:
        partition = this.partition
        self._passes.discard(this)
        self._busy.discard(partition)
        self._freed_bytes += this.freed_bytes
        if error is None:
            self._finished += 1
            self._last_markers[partition] = this.work.last_markers
        else:
            self._postponed.add(partition)
            self._report(partition, error)
        self._find()

    def _report(self, partition: Partition, error: BaseException) -> None:
        # A file that is missing was removed with its segment, before a start offset that was raised meanwhile.
        if isinstance(error, Stopped | FileNotFoundError) or partition.removed:
            return
        if isinstance(error, CorruptMessage):
            self._damaged.add(partition)
        self._partitions.log_error(f"compaction of {partition.log.name} failed: {error}")
