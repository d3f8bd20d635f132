"""The file system in memory: what a crash takes, and failures on demand."""

import errno
import random

import pytest

from engine.files.files import read_whole, write_atomically
from engine.files.memory import MemoryFiles


def _files() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directories("/d")
    files.sync_directory("/")
    return files


def test_a_crash_takes_unsynced_bytes() -> None:
    files = _files()
    file = files.open("/d/a", create=True)
    file.write([b"kept"], 0)
    file.sync()
    files.sync_directory("/d")
    file.write([b"lost"], 4)
    files.crash()
    assert read_whole(files, "/d/a") == b"kept"


def test_a_crash_takes_files_whose_directory_was_not_synced() -> None:
    files = _files()
    file = files.open("/d/a", create=True)
    file.write([b"x"], 0)
    file.sync()
    files.crash()
    assert files.list("/d") == {}


def test_a_crash_takes_directories_whose_parent_was_not_synced() -> None:
    files = MemoryFiles()
    files.make_directories("/d")
    write_atomically(files, "/d/a", b"x")
    files.crash()
    assert files.list("/d") == {}


def test_a_crash_brings_back_what_was_removed_without_a_sync() -> None:
    files = _files()
    write_atomically(files, "/d/a", b"x")
    files.unlink("/d/a")
    files.crash()
    assert files.list("/d") == {"a": 1}


def test_an_atomic_write_survives_every_crash_as_old_or_new() -> None:
    for call in range(1, 8):
        for seed in range(20):
            files = _files()
            write_atomically(files, "/d/a", b"old")
            files.fail_at(call, errno.EIO, times=100)
            try:
                write_atomically(files, "/d/a", b"new")
                done = True
            except OSError:
                done = False
            files.crash(random.Random(seed))
            assert read_whole(files, "/d/a") in ((b"new",) if done else (b"old", b"new"))


def test_a_random_crash_keeps_parts_of_unsynced_writes() -> None:
    outcomes = set()
    for seed in range(50):
        files = _files()
        file = files.open("/d/a", create=True)
        files.sync_directory("/d")
        file.write([b"1234"], 0)
        file.write([b"5678"], 4)
        files.crash(random.Random(seed))
        outcomes.add(read_whole(files, "/d/a"))
    assert {b"", b"1234", b"12345678", b"\0\0\0\x005678"} <= outcomes
    assert any(outcome and outcome != b"1234" and b"1234".startswith(outcome) for outcome in outcomes)


def test_a_call_fails_when_told_and_half_is_written() -> None:
    files = _files()
    file = files.open("/d/a", create=True)
    files.fail_at(2, errno.EIO, only=frozenset({"write"}))
    file.write([b"abcd"], 0)
    with pytest.raises(OSError, match="Input/output"):
        file.write([b"efgh"], 4)
    assert file.pread(100, 0) == b"abcdef"
    file.write([b"efgh"], 4)
    assert file.pread(100, 0) == b"abcdefgh"


def test_a_full_disk_refuses_until_there_is_room() -> None:
    files = _files()
    files.capacity_bytes = 6
    file = files.open("/d/a", create=True)
    file.write([b"1234"], 0)
    with pytest.raises(OSError, match="no space left"):
        file.write([b"5678"], 4)
    file.truncate(4)
    files.capacity_bytes = 8
    file.write([b"5678"], 4)


def test_after_a_failed_sync_the_bytes_are_not_on_disk_and_the_file_never_syncs() -> None:
    files = _files()
    file = files.open("/d/a", create=True)
    files.sync_directory("/d")
    file.write([b"x"], 0)
    files.fail_at(1, errno.EIO, only=frozenset({"sync"}))
    for _ in range(2):
        with pytest.raises(OSError):
            file.sync()
    files.stop_failing()
    files.open("/d/a").sync()
    files.crash()
    assert read_whole(files, "/d/a") == b""
