"""Compiling in place: made anew when the source is newer, and nothing is lost where it cannot be done."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import compile as compiling

SOURCE = compiling.ROOT / "engine/records/_walk.c"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no compiler")
    (tmp_path / "engine/records").mkdir(parents=True)
    shutil.copy(SOURCE, tmp_path / "engine/records")
    return tmp_path


def test_it_is_made_beside_its_source_and_anew_only_when_that_changed(root: Path) -> None:
    (made,) = compiling.compiled(root)
    assert made.parent == root / "engine/records"
    before = made.stat().st_ino
    assert compiling.compiled(root) == [made]
    assert made.stat().st_ino == before
    os.utime(root / "engine/records/_walk.c", (made.stat().st_mtime + 5,) * 2)
    compiling.compiled(root)
    assert made.stat().st_ino != before


def test_it_finds_all_that_is_written_in_c(root: Path) -> None:
    """A source in a folder that it does not know would stay uncompiled, and nobody would be told."""
    folders = [path for path in compiling.ROOT.iterdir() if path.name in ("wire", "engine", "coordinators", "tidegate")]
    there = {path for folder in folders for path in folder.rglob("_*.c")}
    assert {path.name for path in there} >= {"_walk.c", "_stepping.c"}
    assert {path.parent.relative_to(compiling.ROOT).as_posix() for path in there} == set(compiling.PACKAGES)


def test_a_source_that_does_not_compile_leaves_what_there_was(root: Path) -> None:
    (made,) = compiling.compiled(root)
    before = made.read_bytes()
    source = root / "engine/records/_walk.c"
    source.write_text("no C\n")
    os.utime(source, (made.stat().st_mtime + 5,) * 2)
    with pytest.raises(subprocess.CalledProcessError):
        compiling.compiled(root)
    assert made.read_bytes() == before


def test_without_a_compiler_it_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> list[Path]:
        raise FileNotFoundError("cc")

    monkeypatch.setattr(compiling, "compiled", missing)
    assert compiling.main() == 0
    assert "the Python form is used" in capsys.readouterr().err
