"""The end of a log on disk: written again, cut off, emptied."""

import os

from engine.files.memory import MemoryFiles
from engine.log.log import Log, LogConfig
from engine.log.recovery import JOURNAL_FLOOR_FILE, START_FILE
from engine.log.tail import cut_tail, remove_all, rewrite_tail
from tests.engine.logs import DIRECTORY, batch, memory_files, open_log, snapshot, sync


def filled(files: MemoryFiles) -> Log:
    """Four segments of two batches each."""
    log = open_log(files, config=LogConfig(segment_bytes=200))
    for _ in range(8):
        log.append(batch(), 0)
    assert len(log.segments) == 4
    return log


def test_what_a_failed_sync_has_dropped_is_written_again() -> None:
    files = memory_files()
    log = filled(files)
    settled = log.position_of(3)
    sync(log)
    for segment in log.segments[1:]:
        file = files.open(segment.path)
        content = file.pread(file.size(), 0)
        file.truncate(0)
        file.sync()
        file.write([content], 0)
    rewrite_tail(files, log.segments, settled)
    files.crash()
    assert open_log(files, config=log.config).end_offset == 8


def test_a_cut_takes_the_segments_and_snapshots_behind_it() -> None:
    files = memory_files()
    log = filled(files)
    snapshot(log)
    at = log.position_of(3)
    cut_tail(files, DIRECTORY, log.segments, [8], at)
    files.crash()
    again = open_log(files, config=log.config)
    assert again.end_offset == 3
    assert again.recovery.snapshot_offset == -1


def test_emptying_leaves_only_what_keeps_the_journal_away() -> None:
    files = memory_files()
    log = filled(files)
    log.delete_records(3)
    files.open(os.path.join(DIRECTORY, JOURNAL_FLOOR_FILE), create=True)
    assert START_FILE in files.list(DIRECTORY)
    remove_all(files, DIRECTORY, log.segments)
    assert list(files.list(DIRECTORY)) == [JOURNAL_FLOOR_FILE]
