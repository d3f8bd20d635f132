"""The data directory: one holder, and a mark of a clean end that counts once."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.log.types import LogExtent
from tidegate import data_directory
from tidegate.data_directory import (
    CLEAN_MARK,
    LOCK_FILE,
    CleanMark,
    DataDirectory,
    DataDirectoryInUse,
    DataDirectoryUnusable,
    unusable,
)


def test_it_is_made_with_its_parents(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "a" / "b") as directory:
        assert directory.path.is_dir()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("file", r"file cannot be used: that is a file; choose another with --data-dir"),
        ("file/inside", r"inside cannot be used: a part of the path is a file.*; choose another with --data-dir"),
    ],
)
def test_a_file_in_its_place_is_told(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataDirectoryUnusable, match=said), DataDirectory(tmp_path / place):
        pass


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "Permission denied.*; run the broker as a user who may write there or choose another"),
        (errno.ENOSPC, "No space left on device.*; make room there or choose another with --data-dir"),
        (errno.EIO, "Input/output error.*; choose another with --data-dir"),
    ],
)
def test_what_to_do_goes_with_the_reason(number: int, said: str) -> None:
    told = unusable(Path("/data"), OSError(number, os.strerror(number), "/data/.lock"))
    assert re.search(said, str(told))
    assert "(/data/.lock)" in str(told)
    assert "Errno" not in str(told)


def test_a_second_holder_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with (
        DataDirectory(tmp_path),
        pytest.raises(DataDirectoryInUse, match=rf"process {os.getpid()}\).*--data-dir"),
        DataDirectory(tmp_path),
    ):
        pass


def test_it_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with DataDirectory(tmp_path):
            pass


def test_it_is_free_again_when_its_holder_was_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom tidegate.data_directory import DataDirectory\n"
        "DataDirectory(Path(sys.argv[1])).__enter__()\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, cwd=Path(__file__).parents[2])
    assert (tmp_path / LOCK_FILE).exists()
    with DataDirectory(tmp_path):
        pass


def test_the_mark_counts_once_and_tells_what_the_logs_held(tmp_path: Path) -> None:
    left = {"topics/0a/0": LogExtent(12, 2, 3456)}
    with DataDirectory(tmp_path) as directory:
        assert directory.take_clean_mark() is None
        directory.leave_clean_mark(left)
        assert (tmp_path / CLEAN_MARK).exists()
        assert directory.take_clean_mark() == CleanMark(left)
        assert directory.take_clean_mark() is None


def test_an_empty_mark_of_earlier_versions_says_nothing_of_the_logs(tmp_path: Path) -> None:
    (tmp_path / CLEAN_MARK).touch()
    with DataDirectory(tmp_path) as directory:
        assert directory.take_clean_mark() == CleanMark({})


def test_a_damaged_mark_is_none(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        directory.leave_clean_mark({"topics/0a/0": LogExtent(12, 2, 3456)})
        content = (tmp_path / CLEAN_MARK).read_bytes().replace(b"12", b"13")
        (tmp_path / CLEAN_MARK).write_bytes(content)
        assert directory.take_clean_mark() is None


def test_what_made_the_directory_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(data_directory, "sync_directory", synced.append)
    with DataDirectory(tmp_path / "a" / "b"):
        assert set(synced) == {tmp_path, tmp_path / "a"}
    synced.clear()
    with DataDirectory(tmp_path / "a" / "b"):
        assert synced == []


def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with DataDirectory(tmp_path / "data") as directory:
            directory.leave_clean_mark({})
            modes = {path.name: path.stat().st_mode & 0o777 for path in directory.path.iterdir()}
    finally:
        os.umask(before)
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert modes == {LOCK_FILE: 0o600, CLEAN_MARK: 0o600}


def test_what_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("topics", "journal", "mine"):
        (tmp_path / name).mkdir(0o755)
    for name in ("catalogue.sqlite", "catalogue.sqlite-wal", LOCK_FILE, "notes"):
        (tmp_path / name).touch(0o644)
    (tmp_path / "reserve").symlink_to(tmp_path / "notes")
    with DataDirectory(tmp_path):
        pass
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert (modes["topics"], modes["journal"]) == (0o700, 0o700)
    assert (modes["catalogue.sqlite"], modes["catalogue.sqlite-wal"], modes[LOCK_FILE]) == (0o600, 0o600, 0o600)
    assert (modes["mine"], modes["notes"], tmp_path.stat().st_mode & 0o777) == (0o755, 0o644, 0o755)


def test_the_lock_is_not_followed_to_another_file(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("do not overwrite")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / LOCK_FILE).symlink_to(precious)
    with pytest.raises(DataDirectoryUnusable, match="is no symbolic link"), DataDirectory(tmp_path / "data"):
        pass
    assert precious.read_text() == "do not overwrite"
