"""Room kept free: it is really taken, and really given back."""

import errno
import sqlite3

import pytest

from engine.errors import StorageError
from engine.files.memory import MemoryFiles
from engine.files.reserve import Reserve, is_full

PATH = "/data/reserve"


def files(capacity: int | None = None) -> MemoryFiles:
    made = MemoryFiles(capacity_bytes=capacity)
    made.make_directories("/data")
    return made


def test_it_takes_its_room_and_gives_it_back() -> None:
    disk = files()
    reserve = Reserve(disk, PATH, 3 * 2**20 + 5)
    reserve.lay_by()
    assert disk.list("/data") == {"reserve": 3 * 2**20 + 5}
    assert reserve.give_up()
    assert disk.list("/data") == {}
    assert not reserve.give_up()


def test_laying_by_again_is_cheap_where_the_file_is_there() -> None:
    disk = files()
    Reserve(disk, PATH, 2**20).lay_by()
    disk.fail_at(1, errno.EIO, only=frozenset({"write"}))
    Reserve(disk, PATH, 2**20).lay_by()


def test_without_room_nothing_is_left_lying_around() -> None:
    disk = files(capacity=2**19)
    reserve = Reserve(disk, PATH, 2**20)
    with pytest.raises(OSError, match="space"):
        reserve.lay_by()
    assert not reserve.held
    assert disk.list("/data") == {}


def test_a_size_of_zero_keeps_nothing() -> None:
    disk = files()
    Reserve(disk, PATH, 0).lay_by()
    assert disk.list("/data") == {}


def test_a_full_disk_is_recognised_through_what_it_caused() -> None:
    error = StorageError("cannot be written")
    error.__cause__ = OSError(errno.ENOSPC, "no space")
    assert is_full(error)
    assert not is_full(StorageError("something else"))
    assert not is_full(None)


def test_a_database_may_say_that_the_disk_is_full() -> None:
    error = sqlite3.OperationalError("database or disk is full")
    assert not is_full(error)
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    assert is_full(error)
