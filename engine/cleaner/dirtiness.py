"""Which part of a compacted log is dirty, and whether that is reason enough to compact it.

Dirty is what no pass has seen. Compaction never touches the active segment, what lies past the last stable
offset, and segments with a record younger than `min.compaction.lag.ms`. It is due when the dirty share of what it
may touch exceeds `min.cleanable.dirty.ratio`, or a dirty record is older than `max.compaction.lag.ms`.

A small file beside the log says how far it was compacted, so that a restart does not begin anew. It is only ever a
hint: a missing or damaged one, or one that does not fit the log, means from the start.
"""

import os
import struct
from collections.abc import Sequence

from attrs import frozen
from crc32c import crc32c

from engine.cleaner.segment_times import first_timestamp, largest_timestamp
from engine.files.files import Files, read_whole, write_atomically
from engine.log.segment import Segment
from engine.log.types import UNLIMITED, LogConfig

FILE_NAME = "cleaned-to"
_CHECKPOINT = struct.Struct(">qI")


@frozen
class CompactionView:
    """A log at one moment. `segments` are those that may be replaced, from the first on; they end at `end`."""

    segments: Sequence[Segment]
    end: int
    start_offset: int
    end_offset: int
    stable_end: int
    config: LogConfig


@frozen
class Dirtiness:
    """What a pass would work on: all segments up to the last that is cleanable."""

    segments: Sequence[Segment]
    end: int
    first_dirty: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, config: LogConfig) -> bool:
        return self.dirty_bytes > 0 and (self.overdue or self.ratio > config.min_cleanable_dirty_ratio)


def dirtiness(view: CompactionView, cleaned_to: int | None, now_ms: int) -> Dirtiness:
    """[thread] `cleaned_to` is the checkpoint, if there is one."""
    first_dirty = view.start_offset
    if cleaned_to is not None and view.start_offset <= cleaned_to <= view.end_offset:
        first_dirty = cleaned_to
    cleanable: list[Segment] = []
    clean_bytes = dirty_bytes = 0
    overdue = False
    for segment, end in zip(view.segments, _ends(view), strict=True):
        if end > view.stable_end:
            break
        if end > first_dirty:
            if _too_young(segment, view.config, now_ms):
                break
            dirty_bytes += segment.size
            overdue = overdue or _too_old(segment, view.config, now_ms)
        else:
            clean_bytes += segment.size
        cleanable.append(segment)
    end = _ends(view)[len(cleanable) - 1] if cleanable else view.start_offset
    return Dirtiness(tuple(cleanable), end, first_dirty, clean_bytes, dirty_bytes, overdue)


def _ends(view: CompactionView) -> list[int]:
    return [segment.base_offset for segment in view.segments[1:]] + [view.end]


def _too_young(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    lag_ms = config.min_compaction_lag_ms
    return lag_ms > 0 and largest_timestamp(segment) > now_ms - lag_ms


def _too_old(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    lag_ms = config.max_compaction_lag_ms
    return lag_ms < UNLIMITED and first_timestamp(segment) < now_ms - lag_ms


def write_checkpoint(files: Files, directory: str, first_dirty: int) -> None:
    """[thread] Everything below `first_dirty` was compacted."""
    content = struct.pack(">q", first_dirty)
    write_atomically(files, os.path.join(directory, FILE_NAME), content + struct.pack(">I", crc32c(content)))


def read_checkpoint(files: Files, directory: str) -> int | None:
    """[thread] The first offset that was not compacted; None if that is not known."""
    data = read_whole(files, os.path.join(directory, FILE_NAME))
    if data is None or len(data) != _CHECKPOINT.size or crc32c(data[:8]) != _CHECKPOINT.unpack(data)[1]:
        return None
    return int(_CHECKPOINT.unpack(data)[0])
