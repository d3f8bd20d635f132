"""What is replayed is what was written: every batch is vouched for, or the reading ends loudly."""

from contextlib import suppress

import pytest

from engine.damage import DamagedFile
from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig
from engine.log.replay import CHUNK_BYTES, replayed_batches
from engine.log.types import LogPosition, Origin
from engine.records.layout import HEADER, HEADER_SIZE
from tests.engine.logs import batch, memory_files, open_log, sync

SMALL = LogConfig(segment_bytes=400)


def written(files: MemoryFiles, counts: list[int], config: LogConfig = SMALL) -> Log:
    log = open_log(files, config=config)
    for number, count in enumerate(counts):
        log.append(batch(count, size=10 + number), 0, origin=Origin.COORDINATOR)
    sync(log)
    return log


def replay(log: Log, offset: int = 0, *, gaps_allowed: bool = False) -> list[tuple[int, int]]:
    first = log.segments[0].base_offset
    found = replayed_batches(log.segments, LogPosition(offset, first, 0), log.end, gaps_allowed=gaps_allowed)
    return [(header.base_offset, header.record_count) for header, _batch, _segment, _position in found]


def test_all_batches_of_all_segments_come_in_order() -> None:
    log = written(memory_files(), [1, 3, 2, 1, 1, 4])
    assert len(log.segments) > 1
    assert replay(log) == [(0, 1), (1, 3), (4, 2), (6, 1), (7, 1), (8, 4)]


def test_what_ends_below_the_start_is_left_out() -> None:
    log = written(memory_files(), [1, 3, 2], LogConfig())
    assert replay(log, 2) == [(1, 3), (4, 2)]


def test_a_batch_larger_than_what_is_read_at_once_is_whole() -> None:
    log = open_log(memory_files(), config=LogConfig(max_message_bytes=2**31 - 1))
    for size in (10, 3 * CHUNK_BYTES, 10):
        log.append(batch(1, size=size), 0, origin=Origin.COORDINATOR)
    sync(log)
    assert replay(log) == [(0, 1), (1, 1), (2, 1)]


def _may_change(position: int) -> bool:
    """The leader epoch of a batch tells nothing of its records."""
    return 12 <= position < 16


@pytest.mark.parametrize("gaps_allowed", [False, True])
def test_a_bit_that_turned_over_is_found_wherever_it_is(gaps_allowed: bool) -> None:
    files = memory_files()
    log = written(files, [1, 2, 1, 3])
    right = replay(log)
    for segment in log.segments:
        starts = [place.position for place in _places(log) if place.segment == segment.base_offset]
        for position in range(segment.size):
            files.flip_bit(segment.path, position, position % 8)
            inside = position - max(start for start in starts if start <= position)
            if _may_change(inside):
                assert replay(log, gaps_allowed=gaps_allowed) == right
            else:
                _is_refused_or_shows_a_gap(log, inside, gaps_allowed, right)
            files.flip_bit(segment.path, position, position % 8)


def _places(log: Log) -> list[LogPosition]:
    found = replayed_batches(log.segments, LogPosition(0, 0, 0), log.end, gaps_allowed=False)
    return [LogPosition(header.base_offset, segment, position) for header, _batch, segment, position in found]


def _is_refused_or_shows_a_gap(log: Log, inside: int, gaps_allowed: bool, right: list[tuple[int, int]]) -> None:
    with suppress(DamagedFile):
        found = replay(log, gaps_allowed=gaps_allowed)
        # Where compaction may have taken batches, one may stand a little later: nothing of it is lost or altered.
        assert gaps_allowed
        assert inside < 8
        assert [count for _, count in found] == [count for _, count in right]


def test_a_batch_that_claims_to_be_beyond_the_end_is_refused() -> None:
    files = memory_files()
    log = written(files, [1, 1], LogConfig())
    files.flip_bit(log.segments[0].path, log.segments[0].size // 2 + 4, 0)
    with pytest.raises(DamagedFile, match="not below 2"):
        replay(log, gaps_allowed=True)


def test_a_log_that_ends_early_is_noticed() -> None:
    log = written(memory_files(), [1, 1], LogConfig())
    end = LogPosition(5, log.end.segment, log.end.position)
    with pytest.raises(DamagedFile, match="goes on to 5"):
        list(replayed_batches(log.segments, LogPosition(0, 0, 0), end, gaps_allowed=False))


def test_the_header_is_where_it_is_thought_to_be() -> None:
    assert HEADER.size == HEADER_SIZE == 61
