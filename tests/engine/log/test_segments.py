"""The list of segments: which one holds an offset, and where reading it ends."""

import pytest

from engine.log.segments import SegmentList
from engine.log.types import LogConfig, LogPosition
from tests.engine.logs import batch, memory_files, open_log

CONFIG = LogConfig(segment_bytes=200)


def _segments() -> SegmentList:
    """Batches of one record, two to a segment: bases 0, 2, 4, 6 and an active one at 8 with a single batch."""
    log = open_log(memory_files(), config=CONFIG)
    for _ in range(9):
        log.append(batch(), 0)
    return SegmentList(log.segments)


def test_every_offset_belongs_to_one_segment() -> None:
    segments = _segments()
    assert [segments.number_of(offset) for offset in range(9)] == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert segments.number_of(-5) == 0
    assert [segments.end_of(number) for number in range(5)] == [2, 4, 6, 8, None]


def test_segments_wholly_below_an_offset() -> None:
    segments = _segments()
    assert [s.base_offset for s in segments.below(5)] == [0, 2]
    assert [s.base_offset for s in segments.below(6)] == [0, 2, 4]
    assert [s.base_offset for s in segments.below(100)] == [0, 2, 4, 6]


def test_reading_ends_at_the_given_place() -> None:
    segments = _segments()
    size = segments[0].size
    assert segments.limit(0, LogPosition(3, 2, size // 2)) == size
    assert segments.limit(1, LogPosition(3, 2, size // 2)) == size // 2
    assert segments.limit(2, LogPosition(3, 2, size // 2)) == 0


def test_a_place_from_before_a_compaction_counts_by_its_offset() -> None:
    segments = _segments()
    segments[1].cleaned = True
    assert segments.limit(1, LogPosition(3, 2, 5)) == segments[1].size // 2
    assert segments.limit(1, LogPosition(4, 2, 5)) == segments[1].size


def test_a_position_is_a_batch_boundary() -> None:
    segments = _segments()
    half = segments[0].size // 2
    assert segments.position_of(3) == LogPosition(3, 2, half)
    assert segments.position_of(9) is None


def test_sizes_follow_replacement() -> None:
    segments = _segments()
    before = segments.size_bytes
    gone = segments[0]
    segments.replace([gone], [])
    assert segments.size_bytes == before - gone.size
    assert len(segments) == 4
    with pytest.raises(AssertionError):
        segments.replace([segments[3]], [])
