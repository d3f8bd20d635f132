"""Retention and compaction of all partitions, never both on one partition at a time."""

from engine.cleaner.compactor import Compactor, MakeThrottle
from engine.cleaner.offset_map import DEFAULT_BYTES
from engine.cleaner.retainer import Retainer
from engine.clock import Clock
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.workers import Workers


class Cleaner:
    """Lives on the loop, which calls `retain` and `compact` now and then; the work is done by threads.

    `workers` are for compaction alone, which may keep a thread for minutes.
    """

    def __init__(
        self,
        partitions: Partitions,
        workers: Workers,
        clock: Clock,
        make_throttle: MakeThrottle,
        *,
        together: int = 1,
        map_bytes: int = DEFAULT_BYTES,
    ) -> None:
        busy: set[Partition] = set()
        self._busy = busy
        self._stopped = False
        self._retainer = Retainer(partitions, partitions.workers, clock, busy, self._is_stopped)
        self._compactor = Compactor(
            partitions, workers, clock, make_throttle, busy, self._is_stopped, together=together, map_bytes=map_bytes
        )

    def retain(self) -> None:
        """Drop segments that are too old or too many."""
        self._retainer.check()

    def compact(self) -> None:
        """Compact the partitions that are due."""
        self._compactor.check()

    def stop(self) -> None:
        """Begin nothing more, and give up what is under way; it has ended once `idle`."""
        self._stopped = True

    def _is_stopped(self) -> bool:
        return self._stopped

    @property
    def idle(self) -> bool:
        return not self._busy and self._retainer.idle and self._compactor.idle

    def statistics(self) -> dict[str, int]:
        return {"busy": len(self._busy)} | self._retainer.statistics() | self._compactor.statistics()
