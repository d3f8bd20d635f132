"""The data directory: one holder, and a mark of a clean end that counts once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.log_types import LogExtent
from tidegate import data_directory
from tidegate.data_directory import CLEAN_MARK, LOCK_FILE, CleanMark, DataDirectory, DataDirectoryInUse


def test_it_is_made_with_its_parents(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "a" / "b") as directory:
        assert directory.path.is_dir()


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
