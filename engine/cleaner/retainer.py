"""Carries retention out: looks at all partitions in a thread, drops on the loop what was found.

Between the look and the drop the log may have changed; what no longer fits is left for the next time.
"""

from collections.abc import Callable

from engine.cleaner.retention import RetentionView, segments_to_drop
from engine.clock import Clock
from engine.errors import BrokerError
from engine.log.segment import Segment
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.workers import Workers

Found = list[tuple[Partition, RetentionView, int]]


class Retainer:
    """See the module. `busy` holds the partitions that somebody works on; who does puts it in there."""

    def __init__(
        self,
        partitions: Partitions,
        workers: Workers,
        clock: Clock,
        busy: set[Partition],
        is_stopped: Callable[[], bool],
    ) -> None:
        self._partitions = partitions
        self._workers = workers
        self._clock = clock
        self._busy = busy
        self._looking = False
        self._dropped_segments = 0
        self._is_stopped = is_stopped

    @property
    def idle(self) -> bool:
        return not self._looking

    def statistics(self) -> dict[str, int]:
        return {"dropped_segments": self._dropped_segments}

    def check(self) -> None:
        """Look at every partition, and drop what is due."""
        views = [(partition, _view(partition)) for partition in self._partitions if self._is_free(partition)]
        if views and not self._looking:
            self._looking = True
            self._workers.submit(lambda: self._look(views), self._looked)

    def _is_free(self, partition: Partition) -> bool:
        ready = partition.offline is None and partition not in self._busy and not self._is_stopped()
        return ready and bool(partition.log.segments)

    def _look(self, views: list[tuple[Partition, RetentionView]]) -> Found:
        """[thread]"""
        now_ms = self._clock.now_ms()
        found: Found = []
        for partition, view in views:
            try:
                if count := segments_to_drop(view, now_ms):
                    found.append((partition, view, count))
            except (OSError, BrokerError) as error:
                # Removed meanwhile, or damaged, or not readable now: the others are looked at all the same.
                if not partition.removed:
                    self._partitions.log_error(f"retention cannot look at {partition.log.name}: {error}")
        return found

    def _looked(self, found: Found | None, error: BaseException | None) -> None:
        self._looking = False
        if error is not None:
            self._partitions.log_error(f"retention failed: {error}")
        for partition, view, count in found or ():
            if self._is_free(partition) and partition.log.segments[: len(view.segments)] == view.segments:
                try:
                    self._drop(partition, view.segments[:count], view)
                except BrokerError as failure:
                    self._partitions.log_error(f"retention of {partition.log.name} failed: {failure}")

    def _drop(self, partition: Partition, segments: tuple[Segment, ...], view: RetentionView) -> None:
        log = partition.log
        if log.segments[-1] in segments:
            if log.end_offset != view.end_offset:
                segments = segments[:-1]
            else:
                log.roll()
        if not segments:
            return
        # The snapshot first: what the log knows of its producers must not go with the segments.
        jobs = [*log.maintenance(), log.delete_segments_job(segments)]
        self._busy.add(partition)
        self._dropped_segments += len(segments)
        self._partitions.run_jobs(partition, jobs, lambda: self._busy.discard(partition))


def _view(partition: Partition) -> RetentionView:
    log = partition.log
    return RetentionView(
        tuple(log.segments),
        log.start_offset,
        log.end_offset,
        partition.high_watermark.offset,
        log.config,
        has_releases=partition.has_stage,
    )
