"""The second copy: what was committed is read back, and what cannot be read ends it."""

import errno

import pytest

from engine.catalogue import copy as catalogue_copy
from engine.catalogue.catalogue import Delete, Entry, Put
from engine.catalogue.copy import CatalogueCopy, copy_path, read_copy
from engine.files.memory import MemoryFiles
from tests.engine.logs import memory_files

PATH = copy_path("/data")


def written(files: MemoryFiles) -> CatalogueCopy:
    copy = CatalogueCopy(files, PATH)
    copy.rewrite(2, [Entry("a", b"1", 1), Entry("b", b'{"x":2}', 2)])
    copy.append(3, [Put("c", b"3"), Delete("a")])
    copy.append(4, [Put("b", b"4")])
    return copy


def test_it_is_read_as_it_was_written() -> None:
    files = memory_files()
    written(files)
    state = read_copy(files, PATH)
    assert state is not None
    assert (state.revision, state.damaged_at) == (4, None)
    assert state.entries == {"b": Entry("b", b"4", 4), "c": Entry("c", b"3", 3)}


def test_a_missing_one_is_none() -> None:
    assert read_copy(memory_files(), PATH) is None


def test_writing_goes_on_where_reading_ended() -> None:
    files = memory_files()
    written(files)
    state, copy = read_copy(files, PATH), CatalogueCopy(files, PATH)
    assert state is not None
    copy.resume(state)
    assert copy.is_current
    copy.append(5, [Put("d", b"\xff")])
    again = read_copy(files, PATH)
    assert again is not None
    assert (again.revision, again.damaged_at) == (5, None)
    assert again.entries["d"].value == b"\xff"


def test_every_bit_counts() -> None:
    files = memory_files()
    written(files)
    size = files.list("/data/topics")[catalogue_copy.FILE_NAME]
    for position in range(size):
        files.flip_bit(PATH, position, position % 8)
        state = read_copy(files, PATH)
        assert state is not None
        assert state.damaged_at is not None
        assert state.damaged_at <= position
        assert state.revision < 4
        files.flip_bit(PATH, position, position % 8)


def test_what_is_appended_survives_a_loss_of_power() -> None:
    files = memory_files()
    written(files)
    files.crash()
    state = read_copy(files, PATH)
    assert state is not None
    assert state.revision == 4


def test_after_a_failed_append_all_is_to_be_written_anew() -> None:
    files = memory_files()
    copy = written(files)
    files.fail_at(1, errno.ENOSPC, only=frozenset({"write"}))
    with pytest.raises(OSError, match="No space"):
        copy.append(5, [Put("d", b"5")])
    assert not copy.is_current
    copy.rewrite(6, [Entry("d", b"6", 6)])
    assert copy.is_current


def test_history_is_dropped_once_there_is_much_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_copy, "REWRITE_BYTES", 400)
    copy = CatalogueCopy(memory_files(), PATH)
    copy.rewrite(1, [Entry("a", b"1", 1)])
    revision = 1
    while copy.is_current:
        revision += 1
        copy.append(revision, [Put("a", b"2")])
    assert 5 < revision < 20
