"""A segment: finding batches by offset and time, with and without its index, and noticing damage."""

import pytest

from engine.errors import CorruptMessage
from engine.files.memory import MemoryFiles
from engine.log.log import LogConfig
from engine.log.segment import Segment, scan_batches, segment_name, walk_headers
from engine.records.layout import HEADER_SIZE, parse_header
from tests.engine.logs import NOW_MS, batch, stored

BASE = 1000


def _segment(count: int = 100, *, size: int = 100, interval: int = 500) -> Segment:
    """Batches of two records, each 10 ms later than the one before."""
    files = MemoryFiles()
    files.make_directories("/d")
    segment = Segment(files, "/d", BASE)
    segment.create_file()
    for number in range(count):
        data = stored(batch(2, size=size, timestamp_ms=NOW_MS + number * 10), BASE + number * 2, 0)
        segment.file().write([data], segment.size)
        segment.note_batch(parse_header(data), BASE + number * 2, interval)
    return segment


def _save_index(segment: Segment) -> None:
    file = segment.files.open(segment.index_path, create=True)
    file.write([segment.loaded_index().seal(segment.trailer())], 0)


def _reopened(segment: Segment) -> Segment:
    return Segment(segment.files, "/d", BASE, size=segment.size, sealed=True)


def _check_all(segment: Segment) -> None:
    file = segment.file()
    for offset in range(BASE, BASE + 200):
        found = segment.locate(offset)
        assert found is not None
        header = parse_header(file.pread(HEADER_SIZE, found[0]))
        assert header.base_offset <= offset <= header.last_offset
        assert header.size == found[1]
    assert segment.locate(BASE + 200) is None


def test_the_file_is_named_by_its_base_offset() -> None:
    assert segment_name(1000) == "00000000000000001000"
    assert _segment().names == ("00000000000000001000.log", "00000000000000001000.index")


def test_the_tail_is_found_without_reading() -> None:
    segment = _segment()
    assert isinstance(segment.files, MemoryFiles)
    calls = segment.files.calls
    for offset in range(BASE + 2, BASE + 200):
        assert segment.locate(offset) is not None
    assert segment.files.calls == calls


def test_every_offset_of_a_sealed_segment_is_found_by_its_index() -> None:
    segment = _segment()
    _save_index(segment)
    again = _reopened(segment)
    _check_all(again)
    assert again.index_saved
    assert again.max_timestamp == NOW_MS + 990
    assert again.first_timestamp == NOW_MS


def test_an_offset_asked_for_again_is_found_without_reading_until_the_content_is_forgotten() -> None:
    segment = _segment()
    segment.seal()
    assert isinstance(segment.files, MemoryFiles)
    found = segment.locate(BASE + 77)
    calls = segment.files.calls
    assert segment.locate(BASE + 77) == found
    assert segment.files.calls == calls
    segment.reset()
    assert segment.locate(BASE + 77) is None


def test_without_an_index_file_it_is_rebuilt() -> None:
    segment = _segment()
    again = _reopened(segment)
    _check_all(again)
    assert not again.index_saved
    assert again.trailer() == segment.trailer()


def test_an_index_that_lies_is_rebuilt_when_used() -> None:
    segment = _segment()
    segment.seal()
    index = segment.loaded_index()
    index.entries = bytearray(index.entries)
    for position in range(7, len(index.entries), 16):
        index.entries[position] ^= 1
    _check_all(segment)


def test_an_index_beyond_the_file_is_rebuilt() -> None:
    segment = _segment()
    segment.seal()
    segment.loaded_index().add(150, segment.size + 10, 0)
    _check_all(segment)


def test_batches_are_found_by_time() -> None:
    segment = _segment()
    for number in (0, 1, 50, 99):
        headers = (header for _, header in segment.batches_by_time(NOW_MS + number * 10))
        first = next(header for header in headers if header.max_timestamp >= NOW_MS + number * 10)
        assert first.base_offset == BASE + number * 2


def test_a_broken_chain_of_batches_is_reported_with_its_place() -> None:
    segment = _segment()
    _, second = list(walk_headers(segment.file(), 0, segment.size))[:2]
    assert isinstance(segment.files, MemoryFiles)
    segment.files.flip_bit(segment.path, second[0] + 11, 3)
    with pytest.raises(CorruptMessage, match="is damaged at byte"):
        list(walk_headers(segment.file(), 0, segment.size))


def test_a_scan_checks_checksums_across_its_chunks() -> None:
    segment = _segment(40, size=40_000)
    assert segment.size > 3 * 1024 * 1024
    found = list(scan_batches(segment.file(), 0, segment.size))
    assert len(found) == 40
    assert all(intact for _, _, intact in found)
    assert isinstance(segment.files, MemoryFiles)
    segment.files.flip_bit(segment.path, found[20][0] + 1000)
    assert [intact for _, _, intact in scan_batches(segment.file(), 0, segment.size)] == [True] * 20 + [False] + [
        True
    ] * 19


def test_a_scan_ends_where_framing_breaks() -> None:
    segment = _segment(5)
    assert len(list(scan_batches(segment.file(), 0, segment.size - 1))) == 4
    assert len(list(scan_batches(segment.file(), 0, 61))) == 0


def test_it_rolls_by_size_by_time_and_by_range_of_offsets() -> None:
    segment = _segment(1)
    header = parse_header(stored(batch(timestamp_ms=NOW_MS), BASE + 2, 0))
    config = LogConfig(segment_bytes=segment.size + 100, segment_ms=1000)
    assert not segment.must_roll(config, 100, [header], NOW_MS)
    assert segment.must_roll(config, 101, [header], NOW_MS)
    assert not segment.must_roll(config, 100, [header._replace(max_timestamp=NOW_MS + 1000)], NOW_MS)
    assert segment.must_roll(config, 100, [header._replace(max_timestamp=NOW_MS + 1001)], NOW_MS)
    assert segment.must_roll(config, 100, [header._replace(base_offset=BASE + 2**31)], NOW_MS)


def test_without_timestamps_it_rolls_by_its_age() -> None:
    segment = _segment(0)
    data = stored(batch(timestamp_ms=-1), BASE, 0)
    segment.file().write([data], 0)
    segment.note_batch(parse_header(data), BASE, 500)
    config = LogConfig(segment_ms=1000)
    assert not segment.must_roll(config, 100, [parse_header(data)], 1000)
    assert segment.must_roll(config, 100, [parse_header(data)], 1001)


def test_a_sealed_segment_does_not_hold_its_file_or_index() -> None:
    segment = _segment()
    _save_index(segment)
    segment.index_saved = True
    segment.seal()
    segment.release()
    assert segment.index is None
    segment.file()
    assert segment._file is None
    assert segment.pin() is segment.file()
    segment.release()
    assert segment.index is not None
