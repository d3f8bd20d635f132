"""A real node in a simulated world loses nothing, whatever the seed; and bugs that are planted in it are found."""

import gc
import logging
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from tests.simulation.client import Disconnected
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.planted import PLANTED, PLANTED_IN_CLUSTER
from tests.simulation.run import _one, simulate
from tests.simulation.running import run_simulated
from tests.simulation.workloads import Committer
from wire.kafka.messages.api_versions import ApiVersionsRequest

ROOT = Path(__file__).parents[2]
SEEDS = 200
SEEDS_AT_ONCE = 20
FOUND_WITHIN = 500
API_VERSIONS = 18
CLUSTER_SEEDS = 300
CLUSTER_SEEDS_AT_ONCE = 10
DOOR_SEEDS = 20
FOUND_IN_CLUSTER_WITHIN = 1_000
SHOW_HASH = """
import logging, sys
from tests.simulation.run import simulate
from tests.simulation.running import run_simulated
logging.disable(logging.CRITICAL)
print(simulate(int(sys.argv[1]), int(sys.argv[2])).trace_hash)
"""


@pytest.fixture(autouse=True, scope="module")
def _others_left_alone() -> Iterator[None]:
    """After each run the garbage is looked for: not in what all other tests have left."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


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


@pytest.mark.timeout(200)
@pytest.mark.parametrize("first", range(1, CLUSTER_SEEDS + 1, CLUSTER_SEEDS_AT_ONCE))
def test_three_nodes_lose_nothing_whatever_happens_to_them(first: int) -> None:
    outcomes = [simulate(seed, 3) for seed in range(first, first + CLUSTER_SEEDS_AT_ONCE)]
    assert [str(outcome) for outcome in outcomes if outcome.anomalies] == []


@pytest.mark.timeout(200)
@pytest.mark.parametrize("first", range(1, DOOR_SEEDS + 1, CLUSTER_SEEDS_AT_ONCE))
def test_what_other_doors_have_acknowledged_is_there_once_whoever_leads(first: int) -> None:
    """Seeds 9 and 20 had records twice, which a leader had appended before it led no more."""
    outcomes = [simulate(seed, 3, doors=True) for seed in range(first, first + CLUSTER_SEEDS_AT_ONCE)]
    assert [str(outcome) for outcome in outcomes if outcome.anomalies] == []


@pytest.mark.timeout(200)
def test_five_nodes_lose_nothing_either() -> None:
    outcomes = [simulate(seed, 5) for seed in range(1, 6)]
    assert [str(outcome) for outcome in outcomes if outcome.anomalies] == []


def test_a_record_that_waits_for_another_leaders_wall_clock_is_not_taken_for_lost() -> None:
    """Of five nodes one with a clock ahead took delayed records, and handed over to one that held them for longer."""
    assert simulate(500_083, 5).anomalies == ()


def test_a_follower_gives_up_a_stage_that_its_leader_never_had() -> None:
    """It was told so by an epoch of -1, which it took for nothing: what was never acknowledged came a second time."""
    assert simulate(100_594, 3).anomalies == ()


@pytest.mark.parametrize("seed", [101_169, 101_252])
def test_a_node_does_not_end_because_its_disk_is_full_when_it_recovers(seed: int) -> None:
    """It set damaged bytes aside, or put a damaged copy aside: that takes room."""
    assert simulate(seed, 3).anomalies == ()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("nodes", [1, 3])
def test_the_same_seed_gives_the_same_run_in_any_process(nodes: int) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SHOW_HASH, "7", str(nodes)]
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout.strip() == simulate(7, nodes).trace_hash
    assert simulate(8, nodes).trace_hash != simulate(7, nodes).trace_hash


def test_a_campaign_gives_back_what_its_runs_held() -> None:
    """What was frozen with each run was never looked at again: some 15 MB of them remained."""
    kept = []
    for seed in (1, 2, 3):
        _one(seed, node_count=1)
        kept.append(gc.get_freeze_count())
    assert kept[0] >= kept[1] >= kept[2]


@pytest.mark.parametrize("nodes", [1, 3])
def test_what_a_client_fails_by_ends_the_run(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that were cancelled together with their threads waited for them, and the run for ever."""

    async def fail(self: Committer) -> None:
        assert not trio.current_time(), self.name

    monkeypatch.setattr(Committer, "run", fail)
    with pytest.RaisesGroup(pytest.RaisesExc(AssertionError, match="g"), flatten_subgroups=True):
        simulate(1, nodes)


def test_a_node_that_is_dark_leaves_the_others_their_connections() -> None:
    cluster = SimulatedCluster(random.Random(1), node_count=2)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cluster.live)
            first, second = [cluster.client(node.host) for node in cluster.nodes]
            for client in (first, second):
                assert (await client.ask(API_VERSIONS, 0, ApiVersionsRequest())).api_keys
            cluster.nodes[0].lose_power()
            with pytest.raises(Disconnected):
                await first.ask(API_VERSIONS, 0, ApiVersionsRequest())
            assert (await second.ask(API_VERSIONS, 0, ApiVersionsRequest())).api_keys
            assert (await first.ask(API_VERSIONS, 0, ApiVersionsRequest())).api_keys
            cluster.stop()

    run_simulated(run)
    assert [node.lives for node in cluster.nodes] == [2, 1]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[bug](monkeypatch)
    assert any(simulate(seed).anomalies for seed in range(1, FOUND_WITHIN + 1))


@pytest.mark.timeout(1_600)
@pytest.mark.parametrize("bug", PLANTED_IN_CLUSTER)
def test_a_bug_planted_in_three_nodes_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED_IN_CLUSTER[bug](monkeypatch)
    assert any(simulate(seed, 3).anomalies for seed in range(1, FOUND_IN_CLUSTER_WITHIN + 1))
