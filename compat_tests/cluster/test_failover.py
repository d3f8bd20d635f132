"""Nodes are killed, stand still and are restarted under load: nothing acknowledged is lost, doubled or reordered, and
a producer with its defaults sees no error."""

import random
from collections.abc import Callable

import pytest
from attrs import evolve

from compat_tests.cluster.reading import read_all
from tools.chaos import faults
from tools.chaos.campaign import Report, running, suffer, wait_until_acknowledged
from tools.chaos.cluster import ChaosCluster
from tools.chaos.faults import Begin, Fault
from tools.chaos.workloads import Plain
from tools.soak.history import judge

MakeTopic = Callable[..., str]
PARTITIONS = 6


def shortly(begin: Begin, lasts_s: float) -> Begin:
    """The same fault, of a length that suits a test."""

    def begun(cluster: ChaosCluster, chance: random.Random) -> Fault:
        return evolve(begin(cluster, chance), lasts_s=lasts_s)

    return begun


def load_survives(cluster: ChaosCluster, topic: str, chance: random.Random, *begins: Begin) -> Report:
    """An idempotent producer writes all through the faults; then everything is read and judged."""
    writer, report = Plain(cluster.bootstrap, 1, topic, PARTITIONS), Report()
    with running(writer):
        wait_until_acknowledged(writer)
        for begin in begins:
            print(suffer(cluster, begin, chance, writer, report))
    assert writer.failures == []
    verdict = judge(writer.sent, read_all(cluster.bootstrap, topic, PARTITIONS), acknowledged=writer.acknowledged)
    assert verdict.clean, verdict
    assert all(writer.acked_s[index] for index in range(PARTITIONS))
    return report


@pytest.mark.parametrize("who", ["leader", "follower", "controller"])
def test_a_killed_node_takes_nothing_with_it(
    who: str, cluster: ChaosCluster, make_topic: MakeTopic, chance: random.Random
) -> None:
    kill = {"leader": faults.kill_leader, "follower": faults.kill_follower, "controller": faults.kill_controller}[who]
    load_survives(cluster, make_topic(PARTITIONS), chance, *[shortly(kill, 4.0)] * 2)


def test_one_of_three_nodes_is_left(cluster: ChaosCluster, make_topic: MakeTopic, chance: random.Random) -> None:
    load_survives(cluster, make_topic(PARTITIONS), chance, shortly(faults.kill_two, 2.0))


def test_a_node_that_stands_still_is_no_leader_when_it_goes_on(
    cluster: ChaosCluster, make_topic: MakeTopic, chance: random.Random
) -> None:
    load_survives(
        cluster, make_topic(PARTITIONS), chance, *(shortly(faults.pause, lasts_s) for lasts_s in (1.0, 3.0, 6.0))
    )


def test_a_rolling_restart_shows_producers_no_error(
    cluster: ChaosCluster, make_topic: MakeTopic, chance: random.Random
) -> None:
    load_survives(cluster, make_topic(PARTITIONS), chance, faults.roll)
