"""Which part of a log is dirty, and whether that is reason to compact."""

import pytest
from attrs import evolve

from engine.cleaner.dirtiness import FILE_NAME, CompactionView, dirtiness, read_checkpoint, write_checkpoint
from engine.files.memory import MemoryFiles
from engine.log.log import LogConfig
from engine.log.segment import Segment
from tests.engine.logs import DIRECTORY, memory_files

CONFIG = LogConfig(cleanup_compact=True, min_cleanable_dirty_ratio=0.5)
NOW_MS = 100_000


def view(config: LogConfig, *ages_ms: int, stable_end: int = 10_000, start_offset: int = 0) -> CompactionView:
    """Sealed segments of 10 records and 100 bytes; the active one follows them."""
    segments = [
        Segment(MemoryFiles(), "/d", 10 * n, size=100, first_timestamp=NOW_MS - age_ms, max_timestamp=NOW_MS - age_ms)
        for n, age_ms in enumerate(ages_ms)
    ]
    end = 10 * len(segments)
    return CompactionView(segments, end, start_offset, end + 5, stable_end, config)


def test_without_a_checkpoint_all_is_dirty() -> None:
    found = dirtiness(view(CONFIG, 0, 0, 0), None, NOW_MS)
    assert (found.first_dirty, found.end, found.dirty_bytes, found.clean_bytes) == (0, 30, 300, 0)
    assert found.is_due(CONFIG)


def test_the_ratio_must_be_exceeded() -> None:
    found = dirtiness(view(CONFIG, 0, 0), 10, NOW_MS)
    assert found.ratio == 0.5
    assert not found.is_due(CONFIG)
    assert found.is_due(evolve(CONFIG, min_cleanable_dirty_ratio=0.49))


def test_without_dirt_nothing_is_due() -> None:
    config = evolve(CONFIG, min_cleanable_dirty_ratio=0)
    assert not dirtiness(view(config, 0, 0), 20, NOW_MS).is_due(config)


@pytest.mark.parametrize("cleaned_to", [26, 10**9])
def test_a_checkpoint_beyond_the_log_counts_as_none(cleaned_to: int) -> None:
    assert dirtiness(view(CONFIG, 0, 0), cleaned_to, NOW_MS).first_dirty == 0


def test_a_checkpoint_in_segments_that_cannot_be_replaced_yet_counts() -> None:
    found = dirtiness(view(CONFIG, 0, 0), 25, NOW_MS)
    assert (found.first_dirty, found.dirty_bytes) == (25, 0)


def test_a_checkpoint_before_the_start_counts_as_the_start() -> None:
    assert dirtiness(view(CONFIG, 0, 0, start_offset=12), 5, NOW_MS).first_dirty == 12


def test_what_is_not_stable_is_not_touched() -> None:
    found = dirtiness(view(CONFIG, 0, 0, 0, stable_end=29), None, NOW_MS)
    assert (found.end, found.dirty_bytes) == (20, 200)


def test_a_segment_with_a_young_record_is_not_touched() -> None:
    config = evolve(CONFIG, min_compaction_lag_ms=1000)
    found = dirtiness(view(config, 5000, 1000, 999, 5000), None, NOW_MS)
    assert (found.end, found.dirty_bytes) == (20, 200)


def test_young_records_that_were_compacted_already_do_not_hold_others_up() -> None:
    config = evolve(CONFIG, min_compaction_lag_ms=1000)
    assert dirtiness(view(config, 10, 5000), 10, NOW_MS).end == 20


def test_an_old_dirty_record_makes_it_due_whatever_the_ratio() -> None:
    config = evolve(CONFIG, max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0)
    assert dirtiness(view(config, 5000, 1001), 10, NOW_MS).is_due(config)
    assert not dirtiness(view(config, 5000, 1000), 10, NOW_MS).is_due(config)


def test_nothing_cleanable_is_nothing() -> None:
    found = dirtiness(view(CONFIG, 0, stable_end=3), None, NOW_MS)
    assert (found.segments, found.dirty_bytes, found.ratio) == ((), 0, 0.0)


def test_what_is_undecided_is_left_out_even_if_a_checkpoint_calls_it_clean() -> None:
    found = dirtiness(view(CONFIG, 0, 0, 0, stable_end=15), 30, NOW_MS)
    assert (found.end, len(found.segments)) == (10, 1)
    assert not found.is_due(CONFIG)


def test_it_survives_a_crash() -> None:
    files = memory_files()
    files.make_directories(DIRECTORY)
    for path in ("/data", "/data/topics", "/data/topics/0a"):
        files.sync_directory(path)
    write_checkpoint(files, DIRECTORY, 1234)
    files.crash()
    assert read_checkpoint(files, DIRECTORY) == 1234


def test_without_a_file_nothing_is_known() -> None:
    files = memory_files()
    files.make_directories(DIRECTORY)
    assert read_checkpoint(files, DIRECTORY) is None


@pytest.mark.parametrize("position", range(12))
def test_a_damaged_one_counts_as_missing(position: int) -> None:
    files = memory_files()
    files.make_directories(DIRECTORY)
    write_checkpoint(files, DIRECTORY, 1234)
    files.flip_bit(f"{DIRECTORY}/{FILE_NAME}", position)
    assert read_checkpoint(files, DIRECTORY) is None
