"""What any file system must do for the engine: the same tests for the real one and the one in memory."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from engine.files import files as files_module
from engine.files.files import File, FileRegion, Files, OsFile, OsFiles, read_whole, write_atomically
from engine.files.memory import MemoryFiles


@pytest.fixture(params=["os", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Files, str]:
    if request.param == "os":
        return OsFiles(), str(tmp_path)
    files = MemoryFiles()
    files.make_directories("/d")
    return files, "/d"


def _write(files: Files, path: str, content: bytes) -> File:
    file = files.open(path, create=True)
    file.write([content], 0)
    return file


def test_buffers_are_written_one_after_the_other_at_a_position(place: tuple[Files, str]) -> None:
    files, root = place
    file = _write(files, f"{root}/a", b"0123456789")
    file.write([b"ab", memoryview(b"cd"), bytearray(b"e")], 4)
    assert file.pread(100, 0) == b"0123abcde9"
    assert file.pread(2, 4) == b"ab"
    assert file.size() == 10


def test_more_buffers_than_one_call_takes_are_all_written(place: tuple[Files, str]) -> None:
    files, root = place
    file = files.open(f"{root}/a", create=True)
    file.write([b"%04d" % number for number in range(3000)], 0)
    assert file.pread(20_000, 0) == b"".join(b"%04d" % number for number in range(3000))


def test_truncation_shortens_and_lengthens(place: tuple[Files, str]) -> None:
    files, root = place
    file = _write(files, f"{root}/a", b"0123456789")
    file.truncate(3)
    assert file.pread(100, 0) == b"012"
    file.truncate(5)
    assert file.pread(100, 0) == b"012\0\0"


def test_a_missing_file_is_not_opened(place: tuple[Files, str]) -> None:
    files, root = place
    with pytest.raises(FileNotFoundError):
        files.open(f"{root}/missing")
    assert read_whole(files, f"{root}/missing") is None


def test_a_listing_names_plain_files_with_their_sizes(place: tuple[Files, str]) -> None:
    files, root = place
    _write(files, f"{root}/a", b"12345")
    files.make_directories(f"{root}/inner/most")
    assert files.list(root) == {"a": 5}
    assert files.list(f"{root}/nowhere") == {}


def test_a_rename_replaces(place: tuple[Files, str]) -> None:
    files, root = place
    _write(files, f"{root}/a", b"new")
    _write(files, f"{root}/b", b"old")
    files.rename(f"{root}/a", f"{root}/b")
    assert files.list(root) == {"b": 3}
    assert read_whole(files, f"{root}/b") == b"new"


def test_an_unlinked_file_stays_readable_for_who_has_it_open(place: tuple[Files, str]) -> None:
    files, root = place
    region = FileRegion(_write(files, f"{root}/a", b"0123456789"), 2, 4)
    files.unlink(f"{root}/a")
    files.unlink(f"{root}/a")
    assert region.read() == b"2345"
    assert files.list(root) == {}


def test_a_tree_is_removed_and_may_be_removed_again(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directories(f"{root}/t/0")
    _write(files, f"{root}/t/0/a", b"x")
    files.remove_tree(f"{root}/t")
    files.remove_tree(f"{root}/t")
    assert files.list(f"{root}/t/0") == {}


def test_a_tree_into_which_somebody_still_writes_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t").mkdir()
    remove, left = shutil.rmtree, 3

    def rmtree(path: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(errno.ENOTEMPTY, "directory not empty", path)
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    OsFiles().remove_tree(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


def test_a_tree_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t").mkdir()

    def rmtree(path: str) -> None:
        raise OSError(errno.ENOTEMPTY, "directory not empty", path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    with pytest.raises(OSError, match="not empty"):
        OsFiles().remove_tree(str(tmp_path / "t"))


def test_what_was_kept_open_of_a_removed_tree_is_closed(tmp_path: Path) -> None:
    files = OsFiles()
    for name in ("t", "tt"):
        files.make_directories(str(tmp_path / name / "0"))
        files.keep_open(files.open(str(tmp_path / name / "0" / "a"), create=True))
    files.remove_tree(str(tmp_path / "t"))
    assert files.open_count == 1


def test_directories_are_listed_without_files(place: tuple[Files, str]) -> None:
    files, root = place
    files.make_directories(f"{root}/b/c")
    files.make_directories(f"{root}/a")
    _write(files, f"{root}/file", b"x")
    assert files.list_directories(root) == ("a", "b")
    assert files.list_directories(f"{root}/nowhere") == ()


def test_an_atomic_write_leaves_only_the_file(place: tuple[Files, str]) -> None:
    files, root = place
    write_atomically(files, f"{root}/a", b"one")
    write_atomically(files, f"{root}/a", b"two")
    assert files.list(root) == {"a": 3}
    assert read_whole(files, f"{root}/a") == b"two"


def test_syncs_succeed(place: tuple[Files, str]) -> None:
    files, root = place
    _write(files, f"{root}/a", b"x").sync()
    files.sync_directory(root)


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwritev

    def short(descriptor: int, buffers: list[bytes], position: int) -> int:
        return real(descriptor, [b"".join(buffers)[:7]], position)

    monkeypatch.setattr(files_module.os, "pwritev", short)
    file = OsFiles().open(str(tmp_path / "a"), create=True)
    file.write([b"abc", b"defgh", b"", b"ijklmnopqrstuvwxyz"], 0)
    assert file.pread(100, 0) == b"abcdefghijklmnopqrstuvwxyz"


def test_a_failed_sync_fails_ever_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsFiles().open(str(tmp_path / "a"), create=True)

    def fail(_: int) -> None:
        raise OSError(5, "I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(files_module.os, "fdatasync", fail)
        with pytest.raises(OSError, match="I/O error"):
            file.sync()
    with pytest.raises(OSError, match="earlier sync"):
        file.sync()


def test_the_descriptor_is_closed_with_the_last_reference(tmp_path: Path) -> None:
    files = OsFiles(kept_open=1)
    first = files.open(str(tmp_path / "a"), create=True)
    descriptor = first.fileno()
    assert descriptor is not None
    files.keep_open(first)
    del first
    os.fstat(descriptor)
    second = files.open(str(tmp_path / "b"), create=True)
    files.keep_open(second)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_forgotten_file_is_not_kept_open(tmp_path: Path) -> None:
    files = OsFiles()
    file = files.open(str(tmp_path / "a"), create=True)
    assert isinstance(file, OsFile)
    files.keep_open(file)
    descriptor = file.fileno()
    assert descriptor is not None
    files.forget(file)
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize("umask", [0, 0o22, 0o277])
def test_files_and_directories_are_their_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    files = OsFiles()
    (tmp_path / "old").touch(0o644)
    before = os.umask(umask)
    try:
        for name in ("new", "old"):
            files.open(str(tmp_path / name), create=True).close()
        os.umask(umask & 0o77)
        files.make_directories(str(tmp_path / "a" / "b"))
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"new": 0o600, "old": 0o600, "a": 0o700, "b": 0o700}
