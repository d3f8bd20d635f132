"""A real node in a simulated world loses nothing, whatever the seed; and bugs that are planted in it are found."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.planted import PLANTED
from tests.simulation.run import simulate

ROOT = Path(__file__).parents[2]
SEEDS = 200
SEEDS_AT_ONCE = 20
FOUND_WITHIN = 500
SHOW_HASH = "import sys; from tests.simulation.run import simulate; print(simulate(int(sys.argv[1])).trace_hash)"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What a node logs of its crashes is nothing to read here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("first", range(1, SEEDS + 1, SEEDS_AT_ONCE))
def test_nothing_is_lost_doubled_early_or_torn_by_cuts_of_power(first: int) -> None:
    outcomes = [simulate(seed) for seed in range(first, first + SEEDS_AT_ONCE)]
    assert [str(outcome) for outcome in outcomes if outcome.anomalies] == []
    assert sum(outcome.lives > 1 for outcome in outcomes) > SEEDS_AT_ONCE // 2, "there were hardly any crashes"


def test_the_same_seed_gives_the_same_run_in_any_process() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SHOW_HASH, "7"]
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == simulate(7).trace_hash
    assert simulate(8).trace_hash != simulate(7).trace_hash


@pytest.mark.timeout(400)
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[bug](monkeypatch)
    assert any(simulate(seed).anomalies for seed in range(1, FOUND_WITHIN + 1))
