"""Share groups beside all other clients, on nodes that lose their power and change their leaders: every record ends
accepted or as one dead letter, nobody is handed what another holds, and bugs that are planted are found."""

import logging
from collections.abc import Iterator

import pytest

from tests.simulation.planted import PLANTED_IN_SHARES
from tests.simulation.run import simulate

SEEDS, SEEDS_AT_ONCE = 30, 10
CLUSTER_SEEDS, CLUSTER_SEEDS_AT_ONCE = 12, 4
FOUND_WITHIN = 200


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("first", range(1, SEEDS + 1, SEEDS_AT_ONCE))
def test_every_job_is_accepted_or_one_dead_letter_whatever_the_power_does(first: int) -> None:
    outcomes = [simulate(seed, shares=True) for seed in range(first, first + SEEDS_AT_ONCE)]
    assert [str(outcome) for outcome in outcomes if outcome.anomalies] == []
    assert sum(outcome.lives > 1 for outcome in outcomes) > SEEDS_AT_ONCE // 2, "there were hardly any crashes"


@pytest.mark.timeout(200)
@pytest.mark.parametrize("first", range(1, CLUSTER_SEEDS + 1, CLUSTER_SEEDS_AT_ONCE))
def test_every_job_is_accepted_or_one_dead_letter_whoever_leads(first: int) -> None:
    outcomes = [simulate(seed, 3, shares=True) for seed in range(first, first + CLUSTER_SEEDS_AT_ONCE)]
    assert [str(outcome) for outcome in outcomes if outcome.anomalies] == []


@pytest.mark.timeout(400)
@pytest.mark.parametrize("bug", PLANTED_IN_SHARES)
def test_a_bug_planted_in_share_groups_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED_IN_SHARES[bug](monkeypatch)
    assert any(simulate(seed, shares=True).anomalies for seed in range(1, FOUND_WITHIN + 1))


def test_a_delivery_that_a_crash_undid_does_not_count() -> None:
    """What was handed out again before its release was written down came back with the limit reached, and once more."""
    assert simulate(1_063, shares=True).anomalies == ()
