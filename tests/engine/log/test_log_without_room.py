"""A log on a disk that is full, or fails: what cannot be begun leaves nothing."""

import errno

import pytest

from engine.errors import StorageError
from engine.log.log import LogConfig
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
