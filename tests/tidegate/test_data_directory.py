"""The data directory: one holder, and a mark of a clean end that counts once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.data_directory import CLEAN_MARK, LOCK_FILE, DataDirectory, DataDirectoryInUse


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


def test_the_mark_counts_once(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        assert not directory.take_clean_mark()
        directory.leave_clean_mark()
        assert (tmp_path / CLEAN_MARK).exists()
        assert directory.take_clean_mark()
        assert not directory.take_clean_mark()
