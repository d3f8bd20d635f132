"""The package itself: what the program calls."""

import pytest

from tools.cli import main


def test_it_runs_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tidegate ")
