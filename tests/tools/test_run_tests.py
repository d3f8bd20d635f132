"""Several processes share the tests of one run: each test is run once, and every failure is told."""

import re
from pathlib import Path

import pytest

from tools.run_tests import run_beside

FILES = 12
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(3))
def test_one(number):
    with (pathlib.Path(__file__).parent / "run.txt").open("a") as run:
        run.write(f"{pathlib.Path(__file__).name} {number} {os.getpid()}\\n")
"""
FAILING = """
def test_two():
    assert "never" == "this"
"""


def test_each_test_is_run_once_and_failures_at_both_ends_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = _tests_in(tmp_path)
    assert run_beside([str(tests)], tmp_path) == 1
    run = [line.split() for line in (tests / "run.txt").read_text().splitlines()]
    assert sorted((file, number) for file, number, _ in run) == [
        (f"test_{file:02}.py", str(number)) for file in range(FILES) for number in range(3)
    ]
    assert len({(file, process) for file, _, process in run}) == FILES, "a file was torn"
    shown = capfd.readouterr().out
    assert sum(int(count) for count in re.findall(r"(\d+) passed", shown)) == 3 * FILES
    assert sum(int(count) for count in re.findall(r"(\d+) failed", shown)) == 2
    assert shown.count("assert 'never' == 'this'") >= 2


def _tests_in(directory: Path) -> Path:
    tests = directory / "some"
    tests.mkdir()
    (tests / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -p no:schemathesis\n")
    for number in range(FILES):
        fails = number in (0, FILES - 1)
        (tests / f"test_{number:02}.py").write_text(TESTS + FAILING * fails)
    return tests
