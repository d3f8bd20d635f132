"""How old a segment's records are."""

from engine.cleaner.segment_times import first_timestamp, largest_timestamp
from engine.clock import ManualClock
from engine.log.segment import Segment
from tests.engine.logs import NOW_MS, batch, maintain, memory_files, open_log, sync


def reopened(*times_ms: int, index_lost: bool = False) -> Segment:
    """A sealed segment of a log that was just opened: nothing of it is in memory."""
    files = memory_files()
    log = open_log(files)
    for time_ms in times_ms:
        log.append(batch(timestamp_ms=time_ms), 0)
    log.roll()
    sync(log)
    maintain(log)
    log.close(clean=True)
    if index_lost:
        files.unlink(log.segments[0].index_path)
    segment = open_log(files, clock=ManualClock(NOW_MS + 50), clean=True).segments[0]
    assert segment.index is None
    return segment


def test_they_are_read_from_the_index_file() -> None:
    segment = reopened(NOW_MS + 3, NOW_MS + 9, NOW_MS + 5)
    assert first_timestamp(segment) == NOW_MS + 3
    assert largest_timestamp(segment) == NOW_MS + 9
    assert segment.index is None


def test_without_an_index_they_are_read_from_the_headers() -> None:
    segment = reopened(NOW_MS + 3, NOW_MS + 9, NOW_MS + 5, index_lost=True)
    assert largest_timestamp(segment) == NOW_MS + 9
    assert first_timestamp(segment) == NOW_MS + 3


def test_records_without_time_are_as_old_as_the_segment() -> None:
    segment = reopened(-1)
    assert largest_timestamp(segment) == NOW_MS + 50
    assert first_timestamp(segment) == NOW_MS + 50
