"""Faults that need a network or a disk of the run's own: cuts, a slow link, a full disk."""

import random
from collections.abc import Mapping

from tools.chaos.cluster import ChaosCluster
from tools.chaos.faults import Begin, Fault
from tools.chaos.network import ETCD_HOST, HUB_HOST, Network

Way = tuple[int, str]
"""From a node to an address."""


def cut_one_way(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """What one node sends to another is lost; the other way it goes."""
    network = cluster.some_network()
    source, target = chance.sample(sorted(cluster.nodes), 2)
    return _cut(network, chance, f"nothing goes from node {source} to node {target}", [(source, network.host(target))])


def cut_pair(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """Two nodes do not reach each other."""
    network = cluster.some_network()
    one, other = chance.sample(sorted(cluster.nodes), 2)
    ways = [(one, network.host(other)), (other, network.host(one))]
    return _cut(network, chance, f"nodes {one} and {other} do not reach each other", ways)


def cut_off(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """A pulled cable: nothing of what a node sends arrives, and nobody reaches it."""
    network = cluster.some_network()
    node_id = chance.choice(sorted(cluster.nodes))
    others = [other for other in cluster.nodes if other != node_id]
    ways = [(node_id, network.host(other)) for other in others] + [(other, network.host(node_id)) for other in others]
    ways += [(node_id, HUB_HOST), (node_id, ETCD_HOST)]
    return _cut(network, chance, f"node {node_id} is cut off", ways)


def cut_from_etcd(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """A node that clients and nodes reach, and that does not reach etcd."""
    network = cluster.some_network()
    node_id = chance.choice(sorted(cluster.nodes))
    return _cut(network, chance, f"node {node_id} does not reach etcd", [(node_id, ETCD_HOST)])


def cut_all_from_etcd(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """No node reaches etcd: whoever leads goes on."""
    network = cluster.some_network()
    return _cut(network, chance, "no node reaches etcd", [(node_id, ETCD_HOST) for node_id in cluster.nodes])


def slow_link(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """One node sends slowly."""
    network = cluster.some_network()
    node_id = chance.choice(sorted(cluster.nodes))
    network.slow(node_id)
    return Fault(f"node {node_id} sends slowly", (), chance.uniform(3, 8), lambda: network.speed_up(node_id))


def full_disk(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """The disk of one node is full."""
    node_id, disk = chance.choice(sorted(cluster.disks.items()))
    disk.fill()
    return Fault(f"the disk of node {node_id} is full", (), chance.uniform(3, 8), disk.empty)


def _cut(network: Network, chance: random.Random, words: str, ways: list[Way]) -> Fault:
    for source, target in ways:
        network.cut(source, target)

    def heal() -> None:
        for source, target in ways:
            network.heal(source, target)

    return Fault(words, (), chance.uniform(2, 10), heal)


NETWORK_FAULTS: Mapping[str, tuple[int, Begin]] = {
    "cut-one-way": (1, cut_one_way),
    "cut-pair": (1, cut_pair),
    "cut-off": (2, cut_off),
    "cut-from-etcd": (1, cut_from_etcd),
    "cut-all-from-etcd": (1, cut_all_from_etcd),
    "slow-link": (1, slow_link),
}
DISK_FAULTS: Mapping[str, tuple[int, Begin]] = {"full-disk": (1, full_disk)}
