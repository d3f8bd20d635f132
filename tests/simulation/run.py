"""One seeded run: real nodes (one unless told otherwise) in a simulated world, clients, cuts of power, and a verdict.

    python -m tests.simulation.run --seeds 1000

The same seed gives the same run, event for event, in any process: its trace has a hash.
"""

import argparse
import logging
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import trio
import trio.testing
from attrs import frozen

from tests.simulation.client import SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import Anomaly, History, Place, torn
from tests.simulation.reader import Follower, read_all
from tests.simulation.workloads import (
    Committer,
    DelayedProducer,
    IdempotentProducer,
    PrioritisedProducer,
    PrioritySwitch,
    TransactionalProducer,
    Workload,
)
from wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest

CREATE_TOPICS, FIND_COORDINATOR = 19, 10
COORDINATORS = (0, 1)
"""Of groups and of transactions: asking for them makes their topics."""
PLAIN: tuple[Place, ...] = (("plain", 0), ("plain", 1))
TRANSACTED: tuple[Place, ...] = (("transacted", 0), ("transacted", 1))
DELAYED: tuple[Place, ...] = (("delayed", 0),)
PRIORITISED: tuple[Place, ...] = (("prioritised", 0),)
LONGEST_DELAY_MS = 1500
MOST_CRASHES = 5
CRASHES_WITHIN_S = 0.3
GIVE_UP_S = 120.0


@frozen
class Outcome:
    """What a run came to."""

    seed: int
    anomalies: tuple[Anomaly, ...]
    lives: int
    events: int
    trace_hash: str

    def __str__(self) -> str:
        found = "; ".join(map(str, self.anomalies[:3])) or "clean"
        return f"seed {self.seed}: {self.lives} lives, {self.events} events, {self.trace_hash[:16]}: {found}"


def simulate(seed: int, node_count: int = 1) -> Outcome:
    """One run."""
    chance = random.Random(seed)
    history = History()
    cluster = SimulatedCluster(random.Random(chance.random()), node_count)
    with _deterministic(chance.random()):
        trio.run(_run, cluster, history, chance, clock=trio.testing.MockClock(autojump_threshold=0))
    return Outcome(seed, tuple(history.anomalies), cluster.lives, history.events, history.trace_hash)


@contextmanager
def _deterministic(seed: float) -> Iterator[None]:
    """Trio shuffles tasks that are ready together: by a chance of ours."""
    inside = trio._core._run  # type: ignore[attr-defined]
    before = inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r
    inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r = True, random.Random(seed)
    try:
        yield
    finally:
        inside._ALLOW_DETERMINISTIC_SCHEDULING, inside._r = before


async def _run(cluster: SimulatedCluster, history: History, chance: random.Random) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.live)
        with trio.move_on_after(GIVE_UP_S) as time:
            followed = [place for place in (*PLAIN, *DELAYED, *PRIORITISED) if chance.random() < 0.7]
            followers = [Follower(cluster.client(), history, chance, place) for place in followed]
            await _work(cluster, history, chance, followers)
            await _judge(cluster, history, chance, followers)
        cluster.stop()
        if time.cancelled_caught:
            history.wrong("hangs", f"after {GIVE_UP_S} s")
            cluster.lose_all_power()


async def _work(
    cluster: SimulatedCluster, history: History, chance: random.Random, followers: Sequence[Follower]
) -> None:
    """Clients and cuts of power, until the clients have done their part."""
    await _create_topics(cluster.client())
    async with trio.open_nursery() as meanwhile:
        meanwhile.start_soon(_crash_now_and_then, cluster, chance, history)
        for follower in followers:
            meanwhile.start_soon(follower.run)
        async with trio.open_nursery() as clients:
            for workload in _workloads(cluster, history, chance):
                clients.start_soon(workload.run)
        await trio.sleep(chance.random() * LONGEST_DELAY_MS / 1000)
        meanwhile.cancel_scope.cancel()


def _workloads(cluster: SimulatedCluster, history: History, chance: random.Random) -> list[Workload]:
    def common(name: str) -> tuple[SimulatedClient, History, random.Random, str]:
        own = random.Random(chance.random())
        return cluster.client(chance=own), history, own, name

    return [
        *(IdempotentProducer(*common(f"p{place[1]}"), place, windows=8) for place in PLAIN),
        DelayedProducer(*common("d"), DELAYED[0], windows=6, longest_delay_ms=LONGEST_DELAY_MS),
        PrioritisedProducer(*common("l"), PRIORITISED[0], windows=8),
        PrioritySwitch(*common("s"), PRIORITISED[0][0], count=chance.randrange(3)),
        TransactionalProducer(*common("t"), TRANSACTED, count=6),
        Committer(*common("g"), PLAIN[0], count=8),
    ]


async def _create_topics(client: SimulatedClient) -> None:
    topics = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=1)
        for name, count in (("plain", 2), ("transacted", 2), ("delayed", 1), ("prioritised", 1))
    ]
    await client.ask(CREATE_TOPICS, 5, CreateTopicsRequest(topics=topics, timeout_ms=5000))
    for key_type in COORDINATORS:
        await client.ask(FIND_COORDINATOR, 2, FindCoordinatorRequest(key="any", key_type=key_type))
    await client.close()


async def _crash_now_and_then(cluster: SimulatedCluster, chance: random.Random, history: History) -> None:
    for _ in range(chance.randrange(MOST_CRASHES + 1)):
        await trio.sleep(chance.random() * CRASHES_WITHIN_S)
        node = cluster.lose_power()
        history.note("power is lost", node.host)


async def _judge(
    cluster: SimulatedCluster, history: History, chance: random.Random, followers: Sequence[Follower]
) -> None:
    """Read everything, once what was held back is due, and compare."""
    await trio.sleep(LONGEST_DELAY_MS / 1000 + 0.5)
    client = cluster.client()
    read: set[str] = set()
    for place in (*PLAIN, *TRANSACTED, *DELAYED, *PRIORITISED):
        marks = await read_all(client, place, history)
        history.note("read", place, len(marks))
        history.judge(place, marks)
        for follower in followers:
            if follower.place == place and follower.seen != marks[: len(follower.seen)]:
                history.wrong("read otherwise the second time", place)
        read |= set(marks)
    for mark in torn(history.transactions, read):
        history.wrong("torn transaction", mark)
    await client.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Simulated runs of real nodes")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=1)
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    wrong = 0
    for seed in range(options.first, options.first + options.seeds):
        outcome = simulate(seed, options.nodes)
        if outcome.anomalies:
            wrong += 1
            print(outcome, flush=True)
    print(f"{options.seeds} seeds, {wrong} with anomalies")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
