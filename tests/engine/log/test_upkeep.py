"""When snapshots and indexes are written."""

import errno

import pytest

from engine.errors import StorageError
from engine.files.memory import MemoryFiles
from engine.log import upkeep
from engine.log.log import LogConfig
from tests.engine.logs import DIRECTORY, batch, maintain, memory_files, open_log, snapshot, sync


def _names(files: MemoryFiles, suffix: str) -> list[str]:
    return sorted(name for name in files.list(DIRECTORY) if name.endswith(suffix))


def test_a_small_log_needs_no_snapshot() -> None:
    log = open_log(memory_files())
    log.append(batch(), 0)
    assert not log.maintenance_due
    assert log.maintenance() == []


def test_a_snapshot_is_due_after_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_BYTES", 500)
    log = open_log(memory_files())
    while not log.maintenance_due:
        log.append(batch(), 0)
    assert 500 <= log.size_bytes < 600
    maintain(log)
    assert not log.maintenance_due


def test_a_snapshot_is_due_after_so_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_BATCHES", 10)
    log = open_log(memory_files())
    while not log.maintenance_due:
        log.append(batch(), 0)
    assert log.end_offset == 10


def test_a_roll_seals_the_index_and_calls_for_a_snapshot() -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(segment_bytes=500))
    for _ in range(12):
        log.append(batch(), 0)
    assert log.maintenance_due
    maintain(log)
    assert len(_names(files, ".index")) == len(log.segments)
    assert all(segment.index_saved and segment.index is None for segment in log.segments[:-1])
    assert _names(files, ".snapshot") == ["00000000000000000012.snapshot"]


def test_three_snapshots_are_kept() -> None:
    files = memory_files()
    log = open_log(files)
    for _ in range(5):
        log.append(batch(), 0)
        snapshot(log)
    assert _names(files, ".snapshot") == [f"{offset:020d}.snapshot" for offset in (3, 4, 5)]
    again = open_log(files)
    again.append(batch(), 0)
    snapshot(again)
    assert _names(files, ".snapshot") == [f"{offset:020d}.snapshot" for offset in (4, 5, 6)]


def test_a_snapshot_syncs_the_log_itself() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    snapshot(log)
    assert log.durable_end == log.end
    files.crash()
    assert open_log(files).recovery.scanned_bytes == 0


def test_jobs_are_not_handed_out_twice() -> None:
    log = open_log(memory_files())
    log.append(batch(), 0)
    log.request_snapshot()
    jobs = log.maintenance()
    log.request_snapshot()
    assert log.maintenance() == []
    with pytest.raises(StorageError, match="under way"):
        log.truncate_to(0)
    for job in jobs:
        job.run()
        job.finish()
    assert log.maintenance_due


def test_a_snapshot_that_fails_is_tried_again() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    sync(log)
    log.request_snapshot()
    files.fail_at(1, errno.ENOSPC, only=frozenset({"rename"}))
    for job in log.maintenance():
        job.run()
        job.finish()
    assert log.offline is None
    assert log.maintenance_due
    maintain(log)
    assert _names(files, ".snapshot")


def test_a_failed_sync_in_a_job_takes_the_log_offline() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(), 0)
    log.request_snapshot()
    files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    for job in log.maintenance():
        job.run()
        job.finish()
    assert log.offline is not None
    assert not log.maintenance_due


def test_the_index_of_the_active_segment_is_written_piece_by_piece() -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(index_interval_bytes=100))
    for _ in range(3):
        for _ in range(10):
            log.append(batch(), 0)
        snapshot(log)
    again = open_log(files, config=LogConfig(index_interval_bytes=100))
    assert again.recovery.rebuilt_indexes == 0
    assert again.recovery.scanned_bytes == 0
    assert again.segments[0].loaded_index().entries == log.segments[0].loaded_index().entries
