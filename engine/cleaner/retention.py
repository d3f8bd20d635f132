"""Which segments retention lets go: whole ones, from the front, never past the high watermark.

By time: those whose latest record is older than `retention.ms`, up to the first that is not; a record that was held
back counts from its release. By size: the oldest, as long as what is left still holds `retention.bytes`. Segments
that lie wholly before the log's start go under every policy. The active segment goes too when it is due; the log then
goes on in a new one.
"""

from attrs import frozen

from engine.cleaner.segment_times import largest_timestamp, latest_release
from engine.log.segment import Segment
from engine.log.types import LogConfig


@frozen
class RetentionView:
    """A log at one moment, for a thread to look at; the last segment is the active one."""

    segments: tuple[Segment, ...]
    start_offset: int
    end_offset: int
    high_watermark: int
    config: LogConfig
    has_releases: bool = False
    """Whether the partition has a stage, from which old records may have come lately."""

    def end_of(self, number: int) -> int:
        return self.segments[number + 1].base_offset if number + 1 < len(self.segments) else self.end_offset


def segments_to_drop(view: RetentionView, now_ms: int) -> int:
    """[thread] How many segments go, from the front."""
    count = _before_start(view)
    if view.config.cleanup_delete:
        count = max(count, _by_size(view), _by_time(view, now_ms))
    while count > 0 and view.end_of(count - 1) > view.high_watermark:
        count -= 1
    if count == len(view.segments) and view.segments[-1].size == 0:
        count -= 1
    return count


def _before_start(view: RetentionView) -> int:
    sealed = range(len(view.segments) - 1)
    return sum(1 for number in sealed if view.end_of(number) <= view.start_offset)


def _by_size(view: RetentionView) -> int:
    bound = view.config.retention_bytes
    if bound < 0:
        return 0
    surplus = sum(segment.size for segment in view.segments) - bound
    for number, segment in enumerate(view.segments):
        surplus -= segment.size
        if surplus < 0:
            return number
    return len(view.segments)


def _by_time(view: RetentionView, now_ms: int) -> int:
    if view.config.retention_ms < 0:
        return 0
    for number, segment in enumerate(view.segments):
        if now_ms - largest_timestamp(segment) <= view.config.retention_ms:
            return number
        if view.has_releases and now_ms - latest_release(segment) <= view.config.retention_ms:
            return number
    return len(view.segments)
