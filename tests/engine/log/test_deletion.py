"""Records that are deleted free their room, also on a full disk, and leave what is known of their producers."""

import errno

import pytest

from engine.errors import OutOfOrderSequence, StorageError
from engine.log.deletion import deletion_jobs
from engine.log.log import Log, LogConfig
from tests.engine.logs import DIRECTORY, batch, idempotent, memory_files, open_log, sync


def delete(log: Log, offset: int) -> BaseException | None:
    """As a client's request does it."""
    jobs = deletion_jobs(log, offset)
    for job in jobs:
        job.run()
        job.finish()
    return jobs[-1].error


def test_records_can_be_deleted_on_a_full_disk() -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(segment_bytes=500, index_interval_bytes=100))
    for _ in range(20):
        log.append(batch(), 0)
    sync(log)
    made: list[int] = []

    def make_room() -> bool:
        files.capacity_bytes = files.used_bytes() + 1000
        made.append(1)
        return len(made) == 1

    files.room_makers.append(make_room)
    files.capacity_bytes = files.used_bytes()
    before = files.used_bytes()
    assert log.delete_records(11) == 11
    assert made == [1]
    assert files.used_bytes() < before
    files.capacity_bytes = files.used_bytes()
    with pytest.raises(StorageError, match="no space left"):
        log.delete_records(12)


def test_what_is_deleted_to_the_end_takes_no_room() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(10, size=500), 0)
    sync(log)
    assert delete(log, 10) is None
    assert log.size_bytes == 0
    assert [name for name in files.list(DIRECTORY) if name.endswith(".log")] == ["00000000000000000010.log"]
    files.crash()
    recovered = open_log(files)
    assert (recovered.start_offset, recovered.end_offset) == (10, 10)
    assert recovered.append(batch(), 0).base_offset == 10
    empty = open_log(files, directory="/data/topics/0b/0")
    assert delete(empty, 0) is None
    assert not empty.segments


def test_what_is_known_of_producers_outlives_their_records() -> None:
    for call in range(1, 12):
        files = memory_files()
        log = open_log(files)
        log.append(idempotent(0, 5), 0)
        sync(log)
        # The snapshot, or what comes after it, fails for want of room; then the power goes.
        files.fail_at(call, errno.ENOSPC, only=frozenset({"write", "open", "rename"}))
        delete(log, 5)
        files.crash()
        recovered = open_log(files)
        assert recovered.end_offset == 5
        assert recovered.append(idempotent(0, 5), 0).duplicate
        with pytest.raises(OutOfOrderSequence):
            recovered.append(idempotent(7), 0)


def test_a_snapshot_before_a_deletion_may_have_the_room_that_is_kept() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(idempotent(0, 5), 0)
    sync(log)
    asked: list[int] = []

    def make_room() -> bool:
        files.capacity_bytes = None
        asked.append(1)
        return True

    files.room_makers.append(make_room)
    files.capacity_bytes = files.used_bytes()
    assert delete(log, 5) is None
    assert asked == [1]
    assert log.size_bytes == 0
