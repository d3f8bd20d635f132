"""The high watermarks on disk: whole, old or none, never anything else."""

import random

import pytest

from engine.files.files import read_whole, write_atomically
from engine.files.memory import MemoryFiles
from engine.partition.watermarks import FILE_NAME, read_watermarks, write_watermarks
from tests.engine.logs import memory_files

OLD = {(b"\1" * 16, 0): (5, 0)}
NEW = {(b"\1" * 16, 0): (9, 2), (b"\2" * 16, 7): (2**40, 0)}


def test_what_is_read_is_what_was_written() -> None:
    files = memory_files()
    assert read_watermarks(files, "/data") == {}
    write_watermarks(files, "/data", NEW)
    assert read_watermarks(files, "/data") == NEW


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_of_power_leaves_the_old_or_the_new(seed: int) -> None:
    files = memory_files()
    write_watermarks(files, "/data", OLD)
    files.fail_at(1 + seed % 6, 5)
    try:
        write_watermarks(files, "/data", NEW)
    except OSError:
        expected = (OLD, NEW)
    else:
        expected = (NEW, NEW)
    files.stop_failing()
    files.crash(random.Random(seed))
    assert read_watermarks(files, "/data") in expected


def test_a_damaged_file_counts_for_nothing() -> None:
    files = memory_files()
    write_watermarks(files, "/data", NEW)
    size = files.list("/data")[FILE_NAME]
    for position in range(size):
        damaged = _with_flipped_byte(files, position)
        assert read_watermarks(damaged, "/data") == {}


def _with_flipped_byte(files: MemoryFiles, position: int) -> MemoryFiles:
    data = bytearray(read_whole(files, f"/data/{FILE_NAME}") or b"")
    data[position] ^= 1
    damaged = memory_files()
    write_atomically(damaged, f"/data/{FILE_NAME}", bytes(data))
    return damaged
