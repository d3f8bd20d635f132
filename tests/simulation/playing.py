"""A scene for three simulated nodes: somebody says what happens, step by step, and chance only what is left open."""

import logging
import random
from collections.abc import Awaitable, Callable, Sequence

import trio

from tests.simulation.client import Disconnected, SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.node import ETCD
from tests.simulation.running import JumpingClock, collected_at_the_end, deterministic
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest

CREATE_TOPICS = 19
OK, TOPIC_ALREADY_EXISTS = 0, 36
LONG_S = 300.0

Scene = Callable[[SimulatedCluster], Awaitable[None]]


def play(seed: int, scene: Scene) -> None:
    """To its end, whatever fails in it. What the nodes log of it nobody wants to see."""
    chance = random.Random(seed)
    cluster = SimulatedCluster(random.Random(chance.random()), 3)
    failures: list[Exception] = []

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cluster.live)
            try:
                with trio.fail_after(LONG_S):
                    await scene(cluster)
            except Exception as failure:
                # Nodes that are torn away from their threads would wait for ever.
                failures.append(failure)
            cluster.stop()

    logging.disable(logging.CRITICAL)
    try:
        with collected_at_the_end(), deterministic(chance.random()), cluster.pauses.in_force():
            trio.run(run, clock=JumpingClock().clock)
    finally:
        logging.disable(logging.NOTSET)
    if failures:
        raise failures[0]


def cut_from_etcd(cluster: SimulatedCluster, hosts: Sequence[str]) -> list[tuple[str, str]]:
    """Both ways, and the ways, to be healed."""
    ways = [way for host in hosts for way in ((host, ETCD), (ETCD, host))]
    for way in ways:
        cluster.network.cut(*way)
    return ways


async def make_topic(client: SimulatedClient, name: str) -> None:
    """Of one partition on all nodes."""
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=3)
    code = -1
    while code not in (OK, TOPIC_ALREADY_EXISTS):
        try:
            answer = await client.ask(CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic], timeout_ms=5000))
            code = answer.topics[0].error_code
        except Disconnected:
            continue
