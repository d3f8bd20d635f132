"""Cleaned segments: written beside the log, then in the place of others."""

from engine.files.files import read_whole
from engine.files.memory import MemoryFiles
from engine.log.aborted_index import AbortedIndex, AbortedTransaction
from engine.log.index import open_sealed
from engine.log.log import Log, LogConfig
from engine.log.replacement import CLEANED_SUFFIX
from engine.log.segment import walk_headers
from engine.log.segment_writer import SegmentWriter
from engine.records.layout import parse_header, seal_batch
from tests.engine.logs import DIRECTORY, NOW_MS, batch, maintain, memory_files, open_log, read_all, read_at, sync

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)


def _log() -> tuple[MemoryFiles, Log]:
    files = memory_files()
    log = open_log(files, config=CONFIG)
    for number in range(20):
        log.append(batch(2, timestamp_ms=NOW_MS + number), 0)
    sync(log)
    maintain(log)
    return files, log


def _compact(files: MemoryFiles, log: Log) -> None:
    """Keeps every third batch of all sealed segments, and an empty one at their end."""
    old = log.segments[:-1]
    assert log.can_replace(old)
    writer = SegmentWriter(files, DIRECTORY, 0, NOW_MS)
    end = log.segments[-1].base_offset
    for segment in old:
        file = segment.file()
        for position, header in walk_headers(file, 0, segment.size):
            if header.base_offset % 6 == 0:
                writer.append(header, [file.pread(header.size, position)])
            elif header.next_offset == end:
                data = seal_batch(header._replace(record_count=0), b"")
                writer.append(parse_header(data), [data])
    job = log.replace_segments(old, [writer.finish()])
    job.run()
    job.finish()
    assert job.error is None


def test_offsets_in_gaps_lead_to_the_next_batch() -> None:
    files, log = _log()
    _compact(files, log)
    bases = [parse_header(read_at(log, offset)).base_offset for offset in range(8)]
    assert bases == [0, 0, 6, 6, 6, 6, 6, 6]
    assert log.end_offset == 40


def test_the_replacement_is_what_is_recovered() -> None:
    files, log = _log()
    _compact(files, log)
    expected = read_all(log)
    files.crash()
    again = open_log(files, config=CONFIG)
    assert read_all(again) == expected
    assert again.segments[0].loaded_index() is not None
    assert again.segments[0].cleaned


def test_a_read_begun_before_goes_on_with_the_old_bytes() -> None:
    files, log = _log()
    upto = log.position_of(4)
    region = log.read(2, 1, log.end, at_least_one=True).regions[0]
    _compact(files, log)
    assert parse_header(region.read()).base_offset == 2
    assert log.read(2, 1000, upto, at_least_one=True).size == 0


def test_times_are_found_after_a_replacement() -> None:
    files, log = _log()
    _compact(files, log)
    found = log.find_by_time(NOW_MS + 1, log.end)
    assert found is not None
    assert found.offset == 6


def test_unsynced_segments_and_those_past_the_recovery_point_are_not_replaced() -> None:
    log = open_log(memory_files(), config=CONFIG)
    log.append(batch(2), 0)
    log.roll()
    log.append(batch(2), 0)
    old = log.segments[:1]
    assert not log.can_replace(old)
    sync(log)
    assert not log.can_replace(old)
    maintain(log)
    assert log.can_replace(old)
    assert not log.can_replace(log.segments)


def test_an_abandoned_segment_leaves_nothing() -> None:
    files, _ = _log()
    before = files.list(DIRECTORY)
    writer = SegmentWriter(files, DIRECTORY, 0, NOW_MS)
    data = batch()
    writer.append(parse_header(data), [data])
    writer.abandon()
    assert files.list(DIRECTORY) == before


def test_an_entry_of_an_aborted_transaction_comes_with_its_marker() -> None:
    files, _ = _log()
    entry = AbortedTransaction(7, 0, 0, 1)
    writer = SegmentWriter(files, DIRECTORY, 0, NOW_MS)
    data = batch()
    writer.append(parse_header(data), [data], entry)
    segment = writer.finish()
    opened = open_sealed(read_whole(files, segment.index_path + CLEANED_SUFFIX) or b"", segment.size)
    assert opened is not None
    assert list(AbortedIndex(opened[1].aborted)) == [entry]
