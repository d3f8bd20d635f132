"""Plays the scenario files."""

from pathlib import Path

import pytest

from tests.scenario_files import files, play


@pytest.mark.parametrize("file", files(), ids=lambda file: file.stem)
def test_the_scenario_goes_as_written(file: Path) -> None:
    play(file)
