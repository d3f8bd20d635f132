"""A log on a disk that is full, or fails: what cannot be begun leaves nothing, and room can be made."""

import errno

import pytest

from engine.errors import StorageError
from engine.log import LogConfig
from tests.engine.logs import DIRECTORY, batch, memory_files, open_log, read_all, sync


@pytest.mark.parametrize("failing", ["open", "write"])
def test_a_segment_that_cannot_be_begun_leaves_nothing(failing: str) -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(segment_bytes=1000))
    log.append(batch(10), 0)
    # Looking whether there is such a file already is the first call that opens it.
    files.fail_at(2 if failing == "open" else 1, errno.ENOSPC, only=frozenset({failing}))
    with pytest.raises(StorageError):
        log.append(batch(10, size=75), 0)
    files.stop_failing()
    assert [name for name in files.list(DIRECTORY) if name.endswith(".log")] == ["00000000000000000000.log"]
    log.append(batch(3), 0)
    sync(log)
    assert log.offline is None
    files.crash()
    assert read_all(open_log(files)) == read_all(log)


def test_a_segment_that_can_neither_be_begun_nor_removed_takes_the_log_offline() -> None:
    files = memory_files()
    log = open_log(files, config=LogConfig(segment_bytes=1000))
    log.append(batch(10), 0)
    files.fail_at(1, errno.EIO, times=2, only=frozenset({"write", "unlink"}))
    with pytest.raises(StorageError):
        log.append(batch(10, size=75), 0)
    assert log.offline is not None
    log.reverify()
    log.append(batch(3), 0)
    sync(log)
    files.crash()
    recovered = open_log(files)
    assert recovered.end_offset == 13
    assert read_all(recovered) == read_all(log)


def test_a_file_where_a_segment_is_to_begin_is_not_overwritten() -> None:
    files = memory_files()
    log = open_log(files)
    log.append(batch(10), 0)
    files.open(f"{DIRECTORY}/00000000000000000010.log", create=True).write([b"somebody's"], 0)
    log.roll()
    log.append(batch(), 0)
    assert files.list(DIRECTORY)["00000000000000000010.log.set-aside"] == 10
    assert len(read_all(log)) == 2


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

    files.on_full, files.capacity_bytes = make_room, files.used_bytes()
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
    log.delete_records(10)
    assert log.size_bytes == 0
    assert [name for name in files.list(DIRECTORY) if name.endswith(".log")] == ["00000000000000000010.log"]
    files.crash()
    recovered = open_log(files)
    assert (recovered.start_offset, recovered.end_offset) == (10, 10)
    assert recovered.append(batch(), 0).base_offset == 10
    empty = open_log(files, directory="/data/topics/0b/0")
    empty.delete_records(0)
    assert not empty.segments
