"""Replacing segments: all or nothing, whenever the power goes."""

import contextlib
import errno
import random

import pytest

from engine.errors import StorageError
from engine.files.files import read_whole
from engine.files.memory import MemoryFiles
from engine.log.replacement import GAPS_FILE, Replacement, commit_replacement, finish_replacement

OLD = {"a.log": b"old a", "b.log": b"old b", "c.log": b"other"}
NEW = {"a.log": b"new a", "c.log": b"other"}
REPLACEMENT = Replacement(removed=("a.log", "b.log"), renamed=("a.log",))


def _files() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directories("/d")
    files.sync_directory("/")
    for name, content in (OLD | {"a.log.cleaned": b"new a"}).items():
        file = files.open(f"/d/{name}", create=True)
        file.write([content], 0)
        file.sync()
    files.sync_directory("/d")
    return files


def _contents(files: MemoryFiles) -> dict[str, bytes | None]:
    return {name: read_whole(files, f"/d/{name}") for name in files.list("/d") if name != GAPS_FILE}


def test_a_replacement_renames_and_removes() -> None:
    files = _files()
    commit_replacement(files, "/d", REPLACEMENT)
    assert _contents(files) == NEW
    assert GAPS_FILE in files.list("/d")


def test_cleaned_files_without_a_commit_never_happened() -> None:
    files = _files()
    finish_replacement(files, "/d")
    assert _contents(files) == OLD


def test_a_crash_at_any_call_leaves_the_old_or_the_new() -> None:
    outcomes = []
    for call in range(1, 30):
        for seed in range(10):
            files = _files()
            files.fail_at(call, errno.EIO, times=1000)
            try:
                commit_replacement(files, "/d", REPLACEMENT)
                done = True
            except OSError:
                done = False
            files.crash(random.Random(seed))
            finish_replacement(files, "/d")
            assert _contents(files) in ([NEW] if done else [OLD, NEW])
            outcomes.append(_contents(files) == NEW)
    assert len(set(outcomes)) == 2


def test_a_crash_while_finishing_is_finished_the_next_time() -> None:
    for first in (8, 9, 10, 11):
        for second in range(1, 12):
            files = _files()
            files.fail_at(first, errno.EIO, times=1000)
            with pytest.raises(OSError):
                commit_replacement(files, "/d", REPLACEMENT)
            files.fail_at(second, errno.EIO, times=1000)
            with contextlib.suppress(OSError):
                finish_replacement(files, "/d")
            files.crash(random.Random(first * second))
            finish_replacement(files, "/d")
            # The commit is certain once the directory was synced, by whoever came to it first.
            assert _contents(files) in ([NEW] if first > 8 else [OLD, NEW])


def test_a_damaged_commit_is_refused() -> None:
    files = _files()
    file = files.open("/d/replacement", create=True)
    file.write([REPLACEMENT.encode()[:-2]], 0)
    with pytest.raises(StorageError):
        finish_replacement(files, "/d")
