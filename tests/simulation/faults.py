"""What happens to a cluster while its clients work. Each run draws a few kinds of faults and has them again and again,
one over the other; every fault undoes itself in the end."""

import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import trio
from attrs import define

from tests.simulation.cluster import SimulatedCluster
from tests.simulation.history import History
from tests.simulation.network import Way
from tests.simulation.node import ETCD, SimulatedNode
from tests.simulation.running import sleep

FEWEST_FAULTS, MOST_FAULTS = 2, 8
MOST_KINDS = 3
PAUSE_BETWEEN_S = 0.8
LONGEST_S = 3.0
LONGEST_WALL_STEP_MS = 3_000
SLOWEST_WAY_S = 0.3
AFTERWARDS_S = 0.004
PATIENCE, LOOKS_S = 60, 0.05
"""So often it is looked whether a node is back."""

Fault = Callable[["Faults"], Awaitable[None]]


@define(eq=False)
class Faults:
    """Draws them for a cluster."""

    cluster: SimulatedCluster
    chance: random.Random
    history: History
    kinds: Sequence[Fault] = ()

    def __attrs_post_init__(self) -> None:
        self.kinds = self.kinds or self.chance.sample(KINDS, min(len(KINDS), self.chance.randint(1, MOST_KINDS)))

    async def run(self) -> None:
        """As many as are drawn."""
        async with trio.open_nursery() as nursery:
            for _ in range(self.chance.randint(FEWEST_FAULTS, MOST_FAULTS)):
                await sleep(self.chance.random() * PAUSE_BETWEEN_S)
                nursery.start_soon(self.chance.choice(self.kinds), self)

    # -- for each of them

    def node(self) -> SimulatedNode:
        return self.chance.choice(self.cluster.nodes)

    async def strike(self) -> None:
        """Wait for a bad moment: just after something was acknowledged, which must hold from then on, or while a
        transaction ends."""
        if self.chance.random() < 0.7:
            # Not always the first that comes.
            await sleep(self.chance.random() * 0.05)
            with trio.move_on_after(PAUSE_BETWEEN_S):
                await self.history.next_moment()
                await sleep(self.chance.random() * AFTERWARDS_S)

    async def last(self) -> None:
        """For as long as a fault lasts: mostly short."""
        await sleep(self.chance.random() ** 2 * LONGEST_S)

    def note(self, *words: object) -> None:
        self.history.note("fault:", *words)

    @contextmanager
    def cut(self, ways: Sequence[Way]) -> Iterator[None]:
        """Nothing gets through there meanwhile."""
        self.note("cut", *ways)
        for way in ways:
            self.cluster.network.cut(*way)
        try:
            yield
        finally:
            self.cluster.network.heal(ways)
            self.note("healed", *ways)

    def ways(self, ones: Sequence[str], others: Sequence[str]) -> list[Way]:
        """Between the ones and the others: both ways, or only one of them."""
        there = [(one, other) for one, other in itertools.product(ones, others) if one != other]
        back = [(other, one) for one, other in there]
        return self.chance.choice((there + back, there + back, there, back))


async def crash(faults: Faults) -> None:
    """One node loses its power, or is killed."""
    await faults.strike()
    silently = faults.chance.random() < 0.5
    node = faults.cluster.lose_power(faults.node(), silently=silently)
    faults.note("power is lost", node.host, silently)


async def crash_several(faults: Faults) -> None:
    """Two nodes do at almost the same time, or all."""
    nodes = faults.cluster.nodes
    await faults.strike()
    for node in faults.chance.sample(nodes, faults.chance.choice((2, len(nodes)))):
        faults.cluster.lose_power(node, silently=faults.chance.random() < 0.5)
        faults.note("power is lost", node.host)
        await sleep(faults.chance.random() * AFTERWARDS_S)


async def restart(faults: Faults) -> None:
    """One node is shut down in order and comes back."""
    node = faults.node()
    faults.note("restart", node.host)
    node.restart()


async def roll(faults: Faults) -> None:
    """All nodes are, one after the other."""
    for node in faults.cluster.nodes:
        life = node.lives
        faults.note("restart", node.host)
        node.restart()
        for _ in range(PATIENCE):
            await sleep(LOOKS_S)
            if node.lives > life and node.is_serving:
                break


async def cut_pair(faults: Faults) -> None:
    """Two nodes do not reach each other."""
    one, other = faults.chance.sample(faults.cluster.nodes, 2)
    with faults.cut(faults.ways([one.host], [other.host])):
        await faults.last()


async def isolate(faults: Faults) -> None:
    """One node does not reach the others; perhaps etcd, perhaps clients."""
    alone = faults.node().host
    others = [node.host for node in faults.cluster.nodes] + [ETCD] * faults.chance.randrange(2)
    with faults.cut(faults.ways([alone], others)):
        await faults.last()


async def crash_while_cut(faults: Faults) -> None:
    """Two nodes do not reach each other, and then one of them loses its power: what it had begun for the other, such as
    to end a transaction there, the next leader has to finish."""
    one, other = faults.chance.sample(faults.cluster.nodes, 2)
    with faults.cut(faults.ways([one.host], [other.host])):
        await sleep(faults.chance.random() * PAUSE_BETWEEN_S)
        await faults.strike()
        faults.note("power is lost", one.host)
        faults.cluster.lose_power(one, silently=faults.chance.random() < 0.5)
        await faults.last()


async def cut_from_etcd(faults: Faults) -> None:
    """Some nodes do not reach etcd."""
    nodes = faults.cluster.nodes
    some = faults.chance.sample(nodes, faults.chance.randint(1, len(nodes)))
    with faults.cut(faults.ways([node.host for node in some], [ETCD])):
        await faults.last()


async def slow(faults: Faults) -> None:
    """What is sent between two nodes takes long."""
    one, other = faults.chance.sample(faults.cluster.nodes, 2)
    ways = faults.ways([one.host], [other.host])
    faults.note("slow", *ways)
    for way in ways:
        faults.cluster.network.slow_down(*way, faults.chance.random() * SLOWEST_WAY_S)
    try:
        await faults.last()
    finally:
        faults.cluster.network.heal(ways)


async def reset(faults: Faults) -> None:
    """Connections break."""
    faults.note("reset", faults.cluster.network.reset_some(faults.chance.random()))


async def pause(faults: Faults) -> None:
    """One node stands still."""
    host = faults.node().host
    faults.note("pause", host)
    faults.cluster.pauses.pause(host)
    try:
        await faults.last()
    finally:
        faults.cluster.pauses.resume(host)
        faults.note("resume", host)


async def step_wall_clock(faults: Faults) -> None:
    """The wall clock of one node is set forward or back."""
    node = faults.node()
    node.wall.offset_ms = faults.chance.randint(-LONGEST_WALL_STEP_MS, LONGEST_WALL_STEP_MS)
    faults.history.wall_slack_s = max(faults.history.wall_slack_s, 2 * LONGEST_WALL_STEP_MS / 1000)
    faults.note("wall clock", node.host, node.wall.offset_ms)


async def fill_disk(faults: Faults) -> None:
    """The disk of one node is full for a while."""
    node = faults.node()
    faults.note("full", node.host)
    node.files.capacity_bytes = node.files.used_bytes() + faults.chance.randrange(4096)
    try:
        await faults.last()
    finally:
        node.files.capacity_bytes = None
        faults.note("no longer full", node.host)


async def change_etcd_leader(faults: Faults) -> None:
    """etcd elects another leader."""
    takes_s = faults.chance.random()
    faults.note("etcd elects", takes_s)
    faults.cluster.etcd.change_leader(takes_s)


async def stop_etcd(faults: Faults) -> None:
    """etcd is away."""
    faults.note("etcd is down")
    faults.cluster.etcd.go_down()
    try:
        await faults.last()
    finally:
        faults.cluster.etcd.come_up(faults.chance.random())
        faults.note("etcd is up")


async def compact_etcd(faults: Faults) -> None:
    """etcd forgets its history, while somebody may still need it."""
    faults.cluster.etcd.compact()
    with faults.cut(faults.ways([faults.node().host], [ETCD])):
        await faults.last()
        faults.cluster.etcd.compact()


KINDS: tuple[Fault, ...] = (
    crash,
    # Twice: only what was durable on enough disks survives it.
    crash_several,
    crash_several,
    restart,
    roll,
    cut_pair,
    isolate,
    crash_while_cut,
    cut_from_etcd,
    slow,
    reset,
    pause,
    step_wall_clock,
    fill_disk,
    change_etcd_leader,
    stop_etcd,
    compact_etcd,
)
