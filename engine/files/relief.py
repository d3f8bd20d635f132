"""Closes files of logs that nobody uses just now, so that there is always a descriptor for those who need one.

Every log that is written to keeps its active segment open. When too many are open, the logs are gone through in a
circle, as a clock's hand goes: a file that was used since the last time round is left open once more, the others are
closed. What was written to a file must be synced before it is closed, because the kernel reports a lost write only to
descriptors that are open. So files that are wholly on disk are closed at once, the others after a sync in the
background. A reader (an answer that is being sent, a thread) holds a reference to its file, which stays open until the
reader is done.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from engine.files.files import OsFiles
from engine.metrics import Family
from engine.partition.durable_log import DurableLog

logger = logging.getLogger("tidegate.files")

SETTLED_AT_ONCE = 256
ROOM_AT_ONCE = 16
"""How many more than the one that is needed are closed, because others will follow."""
REST_S = 0.1
"""How long nobody goes round again when nothing was found to close."""

Settle = Callable[[Sequence[DurableLog], Callable[[Sequence[object]], object]], object]


class _Found(Enum):
    CLOSED = 1
    UNSYNCED = 2
    LEFT = 3


class FileRelief:
    """See the module. Belongs to the loop; asked from a thread it does nothing: threads open few files, and there is a
    reserve for them."""

    def __init__(
        self,
        files: OsFiles,
        partitions: Callable[[], Iterator[DurableLog]],
        settle: Settle,
        call_later: Callable[[float, Callable[[], object]], object],
    ) -> None:
        self._files = files
        self._partitions = partitions
        self._settle = settle
        self._call_later = call_later
        self._hand: Iterator[DurableLog] = iter(())
        self._loop_thread = threading.get_ident()
        self._called = self._settling = self._resting = False
        self._closed = 0
        files.use(self)

    def relieve_soon(self) -> None:
        """Many files are open: close some in the background."""
        is_due = not (self._called or self._settling or self._resting)
        if threading.get_ident() == self._loop_thread and is_due:
            self._called = True
            self._call_later(0, self._relieve)

    def make_room(self) -> bool:
        """Close at once what may be closed; whether there is room for one more."""
        files = self._files
        if threading.get_ident() != self._loop_thread:
            return True
        self.relieve_soon()
        files.let_go_of_recent(ROOM_AT_ONCE)
        if files.is_full and not self._settling and not self._resting:
            enough, closed = files.open_count - ROOM_AT_ONCE, self._closed
            for _ in self._passed(lambda: files.open_count > enough):
                pass
            if files.is_full:
                logger.warning("log.max.open.files=%d files are open and none can be closed yet", files.most_open)
            if closed == self._closed:
                self._rest()
        return not files.is_full

    def _rest(self) -> None:
        """All that are open are in use, or have to be synced: going round again at once would find no more."""
        self._resting = True
        self._call_later(REST_S, self._wake)

    def _wake(self) -> None:
        self._resting = False

    def _relieve(self) -> None:
        self._called, closed = False, self._closed
        unsynced: dict[DurableLog, None] = {}
        for partition, found in self._passed(lambda: self._files.is_crowded and len(unsynced) < SETTLED_AT_ONCE):
            if found is _Found.UNSYNCED:
                unsynced[partition] = None
        if unsynced:
            self._settling = True
            partitions = tuple(unsynced)
            self._settle(partitions, lambda _: self._settled(partitions))
        elif closed == self._closed and not self._resting:
            self._rest()

    def _settled(self, partitions: Sequence[DurableLog]) -> None:
        self._settling = self._resting = False
        closed = [self._close(partition) for partition in partitions].count(_Found.CLOSED)
        # If none could be closed, all are in use or their disk fails: the next one who opens a file calls again.
        if closed and self._files.is_crowded:
            self.relieve_soon()

    def _passed(self, goes_on: Callable[[], bool]) -> Iterator[tuple[DurableLog, _Found]]:
        """Move the hand, round twice at most: what was left the first time is taken the second."""
        for _ in range(3):
            for partition in self._hand:
                yield partition, self._close(partition)
                if not goes_on():
                    return
            self._hand = self._around()

    def _around(self) -> Iterator[DurableLog]:
        """All partitions; ends early when some were made or removed meanwhile."""
        try:
            yield from self._partitions()
        except RuntimeError:
            return

    def _close(self, partition: DurableLog) -> _Found:
        log = partition.log
        segment = log.active_segment
        if segment is None or not segment.holds_file or log.offline is not None:
            return _Found.LEFT
        if segment.used:
            segment.used = False
            return _Found.LEFT
        if log.dirty:
            return _Found.UNSYNCED
        segment.let_go()
        self._closed += 1
        return _Found.CLOSED

    def statistics(self) -> dict[str, int]:
        """Files that are open, may be open, and were closed to make room."""
        return {"open": self._files.open_count, "most_open": self._files.most_open or 0, "closed": self._closed}

    def collect(self) -> Iterator[Family]:
        """The same for operators."""
        figures = self.statistics()
        yield Family.gauge("tidegate_log_open_files", "Files of logs that are open.", [({}, figures["open"])])
        meaning = "The most files of logs that may be open at one time (log.max.open.files)."
        yield Family.gauge("tidegate_log_open_files_limit", meaning, [({}, figures["most_open"])])
        meaning = "Files of logs that were closed because others were needed."
        yield Family.counter("tidegate_log_files_closed_total", meaning, [({}, figures["closed"])])
