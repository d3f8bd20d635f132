"""A segment is looked at some batches at a time; whatever is wrong with one is told, with its place."""

import pytest

from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig
from engine.log.types import Origin
from engine.scrub.segment_check import CHECKSUM_PROBLEM, PIECE_BYTES, FileFault, SegmentCheck
from tests.engine.logs import batch, memory_files, open_log, sync


def written(files: MemoryFiles, sizes: list[int]) -> Log:
    log = open_log(files, config=LogConfig(max_message_bytes=2**31 - 1))
    for size in sizes:
        log.append(batch(2, size=size), 0, origin=Origin.COORDINATOR)
    sync(log)
    return log


def look(log: Log, budget_bytes: int, *, gaps_allowed: bool = False) -> tuple[SegmentCheck, list[FileFault], int]:
    """All of the only segment: how it ended, what was found, in how many looks."""
    (segment,) = log.segments
    check = SegmentCheck(segment.base_offset, gaps_allowed=gaps_allowed)
    found: list[FileFault] = []
    looks = 0
    while check.position < segment.size and not check.is_broken:
        found += check.look(segment.file(), segment.size, budget_bytes)
        looks += 1
    return check, found, looks


@pytest.mark.parametrize("budget_bytes", [1, 150, 1000, 10**6])
def test_sound_batches_are_counted_whatever_the_budget(budget_bytes: int) -> None:
    log = written(memory_files(), [10, 20, 30, 40])
    check, found, looks = look(log, budget_bytes)
    assert (found, check.batches, check.records, check.next_offset) == ([], 4, 8, 8)
    assert check.position == log.segments[0].size
    assert looks == {1: 4, 150: 4, 1000: 1, 10**6: 1}[budget_bytes]


def test_a_batch_larger_than_the_budget_is_read_in_pieces() -> None:
    log = written(memory_files(), [10, PIECE_BYTES, 10])
    check, found, _ = look(log, 500)
    assert (found, check.batches) == ([], 3)


def test_the_checksum_of_each_is_looked_at() -> None:
    files = memory_files()
    log = written(files, [10, PIECE_BYTES, 10])
    (segment,) = log.segments
    second = log.position_of(2).position
    files.flip_bit(segment.path, second + 2 * PIECE_BYTES)
    check, found, _ = look(log, 500)
    assert found == [FileFault(second, 2, CHECKSUM_PROBLEM)]
    assert check.batches == 3


def test_every_bit_is_looked_at_but_the_leader_epochs() -> None:
    files = memory_files()
    log = written(files, [10, 20])
    (segment,) = log.segments
    second = log.position_of(2).position
    for position in range(segment.size):
        files.flip_bit(segment.path, position, position % 8)
        inside = position if position < second else position - second
        found = look(log, 10**6)[1]
        assert bool(found) == (not 12 <= inside < 16), position
        files.flip_bit(segment.path, position, position % 8)


def test_where_there_can_be_no_gaps_a_wrong_offset_is_told_once() -> None:
    files = memory_files()
    log = written(files, [10, 10, 10])
    (segment,) = log.segments
    second = log.position_of(2).position
    files.flip_bit(segment.path, second + 7, 2)
    assert look(log, 10**6)[1] == [FileFault(second, 2, "offset 6 where 2 is expected")]


def test_where_there_are_gaps_offsets_must_still_rise() -> None:
    files = memory_files()
    log = written(files, [10, 10, 10])
    (segment,) = log.segments
    second, third = log.position_of(2).position, log.position_of(4).position
    files.flip_bit(segment.path, second + 7, 2)
    assert look(log, 10**6, gaps_allowed=True)[1] == [FileFault(third, 8, "offset 4 comes after 7")]


def test_where_framing_breaks_the_look_ends() -> None:
    files = memory_files()
    log = written(files, [10, 10, 10])
    (segment,) = log.segments
    second = log.position_of(2).position
    files.flip_bit(segment.path, second + 16)
    check, found, _ = look(log, 10**6)
    assert check.is_broken
    assert found == [FileFault(second, 2, f"no batch begins here; {segment.size - second} bytes are left")]
