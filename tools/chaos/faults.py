"""What is done to the cluster: a fault is begun, lasts for a while, and is healed."""

import random
from collections.abc import Callable, Mapping

from attrs import frozen

from tools.chaos.cluster import ChaosCluster

WHOLE_S = 90.0


@frozen
class Fault:
    """One that has begun."""

    words: str
    victims: tuple[int, ...]
    """The nodes whose partitions others have to take over."""
    lasts_s: float
    heal: Callable[[], None]


Begin = Callable[[ChaosCluster, random.Random], Fault]


def kill_leader(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """kill -9 of who leads a partition that is written to."""
    leaders = cluster.standing().leaders
    leader = leaders[chance.choice(sorted(place for place in leaders if not place[0].startswith("__")))]
    return _kill(cluster, chance, f"kill -9 of node {leader}, a leader", leader)


def kill_follower(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """kill -9 of who leads least."""
    led = list(cluster.standing().leaders.values())
    follower = min(cluster.nodes, key=led.count)
    return _kill(cluster, chance, f"kill -9 of node {follower}, a follower", follower)


def kill_controller(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """kill -9 of who elects leaders."""
    controller = cluster.controller()
    return _kill(cluster, chance, f"kill -9 of node {controller}, the controller", controller)


def kill_two(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """kill -9 of two of three: nothing is acknowledged until one is back."""
    one, other = chance.sample(sorted(cluster.nodes), 2)
    fault = _kill(cluster, chance, f"kill -9 of nodes {one} and {other}", one, other)
    return Fault(fault.words, (), fault.lasts_s, fault.heal)


def kill_etcd_leader(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """kill -9 of the member of etcd that leads."""
    member = cluster.etcd.leader()
    member.kill()
    return Fault(f"kill -9 of {member.name}, etcd's leader", (), chance.uniform(1, 5), member.begin)


def kill_etcd_leader_and_node(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """Both at once: nobody is there to tell that the node has gone."""
    member = cluster.etcd.leader()
    fault = kill_leader(cluster, chance)
    member.kill()

    def heal() -> None:
        member.begin()
        fault.heal()

    return Fault(f"{fault.words}, and of {member.name}, etcd's leader", fault.victims, fault.lasts_s, heal)


def pause(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """SIGSTOP, then SIGCONT."""
    node = cluster.nodes[chance.choice(sorted(cluster.nodes))]
    lasts_s = chance.uniform(1, 10)
    node.pause()
    return Fault(f"node {node.node_id} stands still for {lasts_s:.1f} s", (), lasts_s, node.resume)


def roll(cluster: ChaosCluster, chance: random.Random) -> Fault:
    """SIGTERM and start, one after the other."""

    def heal() -> None:
        for node_id in chance.sample(sorted(cluster.nodes), len(cluster.nodes)):
            cluster.nodes[node_id].restart()
            cluster.wait_until_whole(WHOLE_S)

    return Fault("rolling restart", (), 0.0, heal)


def _kill(cluster: ChaosCluster, chance: random.Random, words: str, *node_ids: int) -> Fault:
    for node_id in node_ids:
        cluster.nodes[node_id].kill()

    def heal() -> None:
        for node_id in chance.sample(node_ids, len(node_ids)):
            cluster.nodes[node_id].start()

    return Fault(words, node_ids, chance.uniform(3, 8), heal)


FAULTS: Mapping[str, tuple[int, Begin]] = {
    "kill-leader": (4, kill_leader),
    "kill-follower": (2, kill_follower),
    "kill-controller": (2, kill_controller),
    "kill-two": (1, kill_two),
    "pause": (2, pause),
    "roll": (1, roll),
}
"""By name: how often among others, and what it does."""
ETCD_FAULTS: Mapping[str, tuple[int, Begin]] = {
    "kill-etcd-leader": (2, kill_etcd_leader),
    "kill-etcd-leader-and-node": (1, kill_etcd_leader_and_node),
}
"""Only where etcd has three members."""
