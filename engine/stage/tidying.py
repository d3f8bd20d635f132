"""How much of the disk a stage may take: a multiple of what is pending in it, and a floor.

A stage's log is dropped from its front, segment by segment, and what is pending may lie anywhere in it: one record that
waits for a month would hold back everything that came and went after it. So once the log is larger than its bound, what
the front segments still hold is copied to the end, and the segments go after the next checkpoint. From `FACTOR` times
what is pending down to `TARGET_FACTOR` times it, each round copies no more than it frees.
"""

from collections.abc import Sequence
from itertools import pairwise

from attrs import define

from engine.stage.pending import PendingRow
from engine.stage.stage import MOVED_BYTES, Stage

FACTOR = 3
TARGET_FACTOR = 2
ROW_BYTES = 192
"""The most that a row takes on disk besides its record: a batch's header, or the event that moved it."""
MOVED_TOGETHER = 200
LOOKED_AT = 2000
"""How many rows are looked at in one call to find some to move."""


def pending_bytes(stage: Stage) -> int:
    """What is pending, as it would lie on disk if it were alone there."""
    table = stage.state.table
    return table.bytes + ROW_BYTES * table.row_count


def bound_bytes(stage: Stage, floor_bytes: int) -> int:
    """How large the stage's log may become."""
    return floor_bytes + FACTOR * pending_bytes(stage)


@define(eq=False)
class Tidying:
    """One round: the segments before `kept_segment` are emptied, row after row."""

    stage: Stage
    kept_segment: int
    _next_number: int | None = 0

    @classmethod
    def begin(cls, stage: Stage, floor_bytes: int) -> "Tidying | None":
        """The round that brings the log under its bound; None if it is.

        Where the active segment has to go too, another takes its place: an append that may fail."""
        log = stage.store.log
        size = log.size_bytes
        if size <= bound_bytes(stage, floor_bytes):
            return None
        target = floor_bytes // 2 + TARGET_FACTOR * pending_bytes(stage)
        live = stage.state.live_segments()
        for segment, following in pairwise(log.segments):
            size -= segment.size - live.get(segment.base_offset, 0)
            if size <= target:
                return cls(stage, following.base_offset)
        log.roll()
        active = log.active_segment
        assert active is not None
        return cls(stage, active.base_offset)

    @property
    def done(self) -> bool:
        """Whether nothing that waits lies in those segments any more."""
        return self._next_number is None

    def next_rows(self) -> list[PendingRow]:
        """Some rows that have to move; none may mean that none were met yet."""
        if self._next_number is None:
            return []
        found: list[PendingRow] = []
        size = 0
        for looked_at, row in enumerate(self.stage.state.table.rows(self._next_number)):
            if looked_at == LOOKED_AT or len(found) == MOVED_TOGETHER or size >= MOVED_BYTES:
                self._next_number = row.number
                return found
            if row.segment < self.kept_segment:
                found.append(row)
                size += row.size
        self._next_number = None
        return found

    def move(self, rows: Sequence[PendingRow]) -> None:
        """Copy what of these still waits where it was; they may have been looked at a while ago."""
        table = self.stage.state.table
        waiting = [now for now in (table.get(row.number) for row in rows) if now and now.segment < self.kept_segment]
        if waiting:
            self.stage.move(waiting)
