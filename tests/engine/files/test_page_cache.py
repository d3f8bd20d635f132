"""Parts of files that are in memory are read without waiting; the others are brought there first."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.files import page_cache
from engine.files.page_cache import is_resident, let_go, read_resident, warm

CONTENT = bytes(range(256)) * 2000


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    opened = os.open(path, os.O_RDONLY)
    yield opened
    os.close(opened)


def _drop_from_memory(descriptor: int) -> None:
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def test_what_was_warmed_is_in_memory(descriptor: int) -> None:
    warm(descriptor, 0, len(CONTENT))
    assert is_resident(descriptor, 0, len(CONTENT))
    assert read_resident(descriptor, 300, 1000) == CONTENT[300:1300]


def test_what_is_not_in_memory_is_not_read(descriptor: int) -> None:
    _drop_from_memory(descriptor)
    if read_resident(descriptor, 0, 10) is not None:
        pytest.skip("this file system keeps everything in memory")
    assert not is_resident(descriptor, 0, len(CONTENT))
    warm(descriptor, 0, len(CONTENT))
    assert read_resident(descriptor, 0, 10) == CONTENT[:10]


def test_a_range_beyond_the_end_is_not_taken_for_read(descriptor: int) -> None:
    assert read_resident(descriptor, len(CONTENT) - 5, 10) is None


def test_warming_ends_at_the_end_of_the_file(descriptor: int) -> None:
    warm(descriptor, len(CONTENT) - 5, 1000)


def test_a_single_byte_can_be_asked_for(descriptor: int) -> None:
    warm(descriptor, 0, 1)
    assert is_resident(descriptor, 0, 1)
    assert read_resident(descriptor, 0, 1) == CONTENT[:1]


def test_a_file_system_that_cannot_tell_is_read_from(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.preadv

    def preadv(file_descriptor: int, buffers: list[bytearray], position: int, flags: int = 0) -> int:
        if flags:
            raise OSError(errno.EOPNOTSUPP, "no RWF_NOWAIT")
        return real(file_descriptor, buffers, position)

    monkeypatch.setattr(page_cache.os, "preadv", preadv)
    assert is_resident(descriptor, 0, len(CONTENT))
    assert read_resident(descriptor, 0, 10) == CONTENT[:10]


def test_what_is_let_go_can_be_read_again(descriptor: int) -> None:
    os.fsync(descriptor)
    let_go(descriptor, 0, len(CONTENT))
    warm(descriptor, 0, len(CONTENT))
    assert read_resident(descriptor, 0, 1000) == CONTENT[:1000]
