"""The checkpoint of compaction: whole or not at all."""

import pytest

from engine.cleaner.checkpoint import FILE_NAME, read_checkpoint, write_checkpoint
from tests.engine.logs import DIRECTORY, memory_files


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
