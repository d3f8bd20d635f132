"""One seeded run: real nodes (one unless told otherwise) in a simulated world, clients, cuts of power, and a verdict.

    python -m tests.simulation.run --seeds 1000
    python -m tests.simulation.run --nodes 3 --seeds 1000 --first 5000 --jobs 2
    python -m tests.simulation.run --nodes 5 --seeds 100000 --first 5000 --minutes 60

The same seed gives the same run, event for event, in any process: its trace has a hash.
"""

import argparse
import gc
import logging
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import islice, takewhile
from typing import Any

import pytest
import trio
from attrs import frozen

from tests.simulation.client import Disconnected, SimulatedClient
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.copying import CopyingLoop
from tests.simulation.door_sender import DoorSender
from tests.simulation.faults import Faults
from tests.simulation.history import Anomaly, History, Place, Show, torn
from tests.simulation.planted import PLANTED, PLANTED_IN_CLUSTER, PLANTED_IN_SHARES
from tests.simulation.reader import Follower, end_of, read_all
from tests.simulation.replicas import compare_replicas
from tests.simulation.running import JumpingClock, collected_at_the_end, deterministic, sleep
from tests.simulation.share_workers import JOBS, SETTINGS, ShareSide
from tests.simulation.workloads import (
    Committer,
    DelayedProducer,
    IdempotentProducer,
    PrioritisedProducer,
    PrioritySwitch,
    TransactionalProducer,
    Workload,
)
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest

CREATE_TOPICS, FIND_COORDINATOR = 19, 10
COORDINATORS = (0, 1)
"""Of groups and of transactions: asking for them makes their topics."""
PLAIN: tuple[Place, ...] = (("plain", 0), ("plain", 1))
TRANSACTED: tuple[Place, ...] = (("transacted", 0), ("transacted", 1))
COPIED: Place = ("copied", 0)
"""Of several nodes alone."""
DELAYED: tuple[Place, ...] = (("delayed", 0),)
PRIORITISED: tuple[Place, ...] = (("prioritised", 0),)
TOPICS = (("plain", 2), ("transacted", 2), ("delayed", 1), ("prioritised", 1))
COPYINGS = 6
LONGEST_DELAY_MS = 1500
MOST_CRASHES = 5
CRASHES_WITHIN_S = 0.3
GIVE_UP_S = 120.0
ASKED_FOR_END = 0.1
MOST_REPLICAS = 3
TOLD_EVERY = 100
OK, TOPIC_ALREADY_EXISTS = 0, 36
ALL_PLANTED = PLANTED | PLANTED_IN_CLUSTER | PLANTED_IN_SHARES


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


def simulate(
    seed: int, node_count: int = 1, show: Show | None = None, *, shares: bool = False, doors: bool = False
) -> Outcome:
    """One run; with share groups beside the others, or callers of other doors than Kafka's, where that is asked
    for."""
    chance = random.Random(seed)
    history = History(show=show)
    cluster = SimulatedCluster(random.Random(chance.random()), node_count, SETTINGS if shares else {})
    side = ShareSide(cluster, history, random.Random(seed)) if shares else None
    senders = _door_senders(cluster, history, random.Random(seed)) if doors else []
    loop = _copying_loop(cluster, history, random.Random(seed)) if node_count > 1 else None
    with collected_at_the_end(), deterministic(chance.random()), cluster.pauses.in_force():
        trio.run(_run, cluster, history, chance, side, senders, loop, clock=JumpingClock().clock)
    return Outcome(seed, tuple(history.anomalies), cluster.lives, history.events, history.trace_hash)


async def _run(
    cluster: SimulatedCluster,
    history: History,
    chance: random.Random,
    side: ShareSide | None,
    senders: Sequence[Workload],
    loop: CopyingLoop | None,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.live)
        with trio.move_on_after(GIVE_UP_S) as given:
            followed = [place for place in (*PLAIN, *DELAYED, *PRIORITISED) if chance.random() < 0.7]
            ends = ASKED_FOR_END if cluster.node_count > 1 else 0.0
            followers = [Follower(cluster.client(), history, chance, place, ends) for place in followed]
            await _work(cluster, history, chance, followers, side, [*senders, *([] if loop is None else [loop])])
            await _judge(cluster, history, chance, followers, side)
            if loop is not None:
                await _judge_copies(cluster, history, loop)
        for failure in [failure for node in cluster.nodes for failure in node.failures]:
            history.wrong("node failed", failure)
        cluster.stop()
        if given.cancelled_caught:
            history.wrong("hangs", f"after {GIVE_UP_S} s")
            cluster.lose_all_power()


async def _work(
    cluster: SimulatedCluster,
    history: History,
    chance: random.Random,
    followers: Sequence[Follower],
    side: ShareSide | None,
    senders: Sequence[Workload],
) -> None:
    """Clients and cuts of power, until the clients have done their part."""
    copied = [] if cluster.node_count == 1 else [(COPIED[0], 1)]
    await _create_topics(cluster, (*TOPICS, *copied, *([] if side is None else [(JOBS[0], 1)])))
    if side is not None:
        await side.begin()
    async with trio.open_nursery() as meanwhile:
        if cluster.node_count == 1:
            meanwhile.start_soon(_crash_now_and_then, cluster, chance, history)
        else:
            meanwhile.start_soon(Faults(cluster, random.Random(chance.random()), history).run)
        for follower in followers:
            meanwhile.start_soon(follower.run)
        async with trio.open_nursery() as clients:
            for workload in (*_workloads(cluster, history, chance), *(side.workloads if side else ()), *senders):
                clients.start_soon(workload.run)
        await sleep(chance.random() * LONGEST_DELAY_MS / 1000)
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


def _copying_loop(cluster: SimulatedCluster, history: History, chance: random.Random) -> CopyingLoop:
    own = random.Random(chance.random())
    return CopyingLoop(cluster.client(chance=own), history, own, "c", PLAIN[0], COPIED, count=COPYINGS)


def _door_senders(cluster: SimulatedCluster, history: History, chance: random.Random) -> list[Workload]:
    """Their chance is their own, so that the others do what they would do without them."""
    return [
        DoorSender(
            cluster.client(chance=chance), history, random.Random(chance.random()), f"h{place[1]}", cluster, place, 15
        )
        for place in PLAIN
    ]


async def _create_topics(cluster: SimulatedCluster, topics: Sequence[tuple[str, int]]) -> None:
    client = cluster.client()
    factor = min(cluster.node_count, MOST_REPLICAS)
    configs = [CreatableTopicConfig("min.insync.replicas", "2")] if factor == 3 else []
    for name, count in topics:
        topic = CreatableTopic(name=name, num_partitions=count, replication_factor=factor, configs=configs)
        await _insist(client, CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic], timeout_ms=5000))
        if client.others:
            await client.again(None)
    for key_type in COORDINATORS:
        await _insist(client, FIND_COORDINATOR, 2, FindCoordinatorRequest(key="any", key_type=key_type))
    await client.close()


async def _insist(client: SimulatedClient, api_key: int, version: int, request: Any) -> None:
    """Ask until it is done: several nodes are not ready at once."""
    while True:
        try:
            answer = await client.ask(api_key, version, request)
        except Disconnected:
            continue
        code = answer.error_code if api_key == FIND_COORDINATOR else answer.topics[0].error_code
        if code in (OK, TOPIC_ALREADY_EXISTS) or not client.others:
            return
        await client.again(None)


async def _crash_now_and_then(cluster: SimulatedCluster, chance: random.Random, history: History) -> None:
    for _ in range(chance.randrange(MOST_CRASHES + 1)):
        await sleep(chance.random() * CRASHES_WITHIN_S)
        node = cluster.lose_power()
        history.note("power is lost", node.host)


async def _judge(
    cluster: SimulatedCluster,
    history: History,
    chance: random.Random,
    followers: Sequence[Follower],
    side: ShareSide | None,
) -> None:
    """Read everything, once what was held back is due, and compare."""
    # A new leader knows by its wall clock alone when its predecessor, by another, took a record.
    await sleep(LONGEST_DELAY_MS / 1000 + 0.5 + history.wall_slack_s)
    client = cluster.client()
    read: set[str] = set()
    places = (*PLAIN, *TRANSACTED, *DELAYED, *PRIORITISED)
    if side is not None:
        await side.judge()
        places = (*places, JOBS)
    for place in places:
        found = await read_all(client, place, history)
        history.note("read", place, len(found))
        history.judge(place, found, await end_of(client, place, history, committed=False))
        marks = list(found.values())
        for follower in followers:
            if follower.place == place and follower.seen != marks[: len(follower.seen)]:
                history.wrong("read otherwise the second time", place)
        read |= set(marks)
    for mark in torn(history.transactions, read):
        history.wrong("torn transaction", mark)
    await client.close()
    if cluster.node_count > 1:
        await compare_replicas(cluster, history, places)


async def _judge_copies(cluster: SimulatedCluster, history: History, loop: CopyingLoop) -> None:
    client = cluster.client()
    loop.judge(await read_all(client, loop.source, history), await read_all(client, loop.target, history))
    await client.close()
    await compare_replicas(cluster, history, (loop.target,))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Simulated runs of real nodes")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no seed begins later than that")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--shares", action="store_true", help="with share groups beside the others")
    parser.add_argument("--doors", action="store_true", help="with callers of other doors than Kafka's")
    parser.add_argument("--jobs", type=int, default=1, help="so many processes")
    parser.add_argument("--plant", choices=sorted(ALL_PLANTED), help="a bug that should be found")
    parser.add_argument("--trace", action="store_true", help="show every event")
    parser.add_argument("--logs", action="store_true", help="show what the nodes log")
    options = parser.parse_args(arguments)
    run = partial(
        _one,
        node_count=options.nodes,
        shares=options.shares,
        doors=options.doors,
        plant=options.plant,
        trace=options.trace,
        logs=options.logs,
    )
    began_s = time.monotonic()
    due = takewhile(
        lambda _: time.monotonic() - began_s < 60 * options.minutes,
        range(options.first, options.first + options.seeds),
    )
    with ProcessPoolExecutor(options.jobs) as pool:
        return _campaign(_in_processes(pool, run, due, 2 * options.jobs) if options.jobs > 1 else map(run, due))


def _in_processes(
    pool: ProcessPoolExecutor, run: Callable[[int], Outcome], seeds: Iterator[int], at_once: int
) -> Iterator[Outcome]:
    """The outcomes in order, of which no more are asked for than are soon begun."""
    asked = deque(pool.submit(run, seed) for seed in islice(seeds, at_once))
    while asked:
        yield asked.popleft().result()
        asked.extend(pool.submit(run, seed) for seed in islice(seeds, 1))


def _campaign(outcomes: Iterable[Outcome]) -> int:
    """Tell of them as they come; the status is 1 if anything was wrong."""
    began_s, count, wrong = time.monotonic(), 0, 0
    for count, outcome in enumerate(outcomes, 1):
        if outcome.anomalies:
            wrong += 1
            print(outcome, flush=True)
        if count % TOLD_EVERY == 0:
            print(f"... seed {outcome.seed}, {_rate(count, began_s)}, {wrong} with anomalies", flush=True)
    print(f"{count} seeds, {wrong} with anomalies, {_rate(count, began_s)}")
    return 1 if wrong else 0


def _rate(count: int, began_s: float) -> str:
    return f"{count / max(time.monotonic() - began_s, 1e-9):.2f} seeds per second"


@cache
def _spare_what_is_loaded() -> None:
    """From every look for garbage. Once: what is frozen later is the run before, and would never be given back."""
    gc.freeze()


def _one(
    seed: int,
    *,
    node_count: int,
    plant: str | None = None,
    trace: bool = False,
    logs: bool = False,
    shares: bool = False,
    doors: bool = False,
) -> Outcome:
    """In this process, or in one of several."""
    _spare_what_is_loaded()
    logging.disable(logging.NOTSET if logs else logging.CRITICAL)
    with pytest.MonkeyPatch.context() as patch:
        if plant is not None:
            ALL_PLANTED[plant](patch)
        return simulate(seed, node_count, print if trace else None, shares=shares, doors=doors)


if __name__ == "__main__":
    sys.exit(main())
