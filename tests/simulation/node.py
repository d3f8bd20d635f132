"""A real node that lives in a simulated world, loses its power, and comes back on the same disk."""

import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from functools import partial

import trio
from attrs import define, field

from engine.catalogue.catalogue import Catalogue
from engine.errors import BrokerError
from engine.files.memory import MemoryFiles
from engine.log.types import LogExtent
from tests.simulation.etcd import SimulatedEtcd
from tests.simulation.etcd_catalogue import SimulatedCatalogue
from tests.simulation.harm import harm_indexes
from tests.simulation.network import PORT, Network
from tests.simulation.pausing import HOST
from tests.simulation.running import sleep
from tests.simulation.world import Outside, WallSteps, make_world
from tidegate.config import BrokerConfig
from tidegate.data_directory import CleanMark
from tidegate.descriptors import DescriptorPlan
from tidegate.runtime import NodeRuntime
from wire.kafka.request import Endpoint
from wire.kafka.server import KafkaServer
from wire.services import Services
from wire.transport import Transport, TransportStream

logger = logging.getLogger("tidegate.simulation")

DATA_DIR = "/data"
SETTINGS: Mapping[str, object] = {
    "log.dirs": DATA_DIR,
    "http.port": 0,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "share.coordinator.state.topic.num.partitions": 2,
    "group.initial.rebalance.delay.ms": 0,
    "trace.events.topic.enable": "false",
    "log.roll.ms": 400,
    "log.journal.segment.bytes": 1 << 20,
    "log.index.interval.bytes": 512,
    # Zeros that every life of a node writes and every crash copies; records here take kilobytes.
    "stage.reserve.bytes": 2 << 20,
    "log.deletion.reserve.bytes": 1 << 20,
}
LONGEST_DARKNESS_S = 0.5
DISK_SLOWNESS = (1.0, 4.0, 16.0)
ETCD = "etcd"
"""Its name in the network."""


@define
class SimulatedDirectory:
    """The mark of a clean stop on the simulated disk."""

    mark: CleanMark | None = None

    def take_clean_mark(self) -> CleanMark | None:
        mark, self.mark = self.mark, None
        return mark

    def leave_clean_mark(self, logs: Mapping[str, LogExtent]) -> None:
        self.mark = CleanMark(dict(logs))


@define(eq=False)
class SimulatedListener:
    """Where clients and other nodes reach a node."""

    host: str
    network: Network

    @property
    def told(self) -> str:
        return f"PLAINTEXT://{self.host}:{PORT}"

    def listen(self) -> None:
        """Those who connect before `serve` are refused."""

    async def serve(self, server: KafkaServer, _number: int) -> None:
        try:
            async with trio.open_nursery() as connections:
                # Whoever connects, the connection's task is the node's.
                self.network.listen(self.host, partial(copy_context().run, self._admit, server, connections))
                await trio.sleep_forever()
        finally:
            self.network.deafen(self.host)

    def _admit(self, server: KafkaServer, connections: trio.Nursery, transport: Transport) -> None:
        server.admit(transport, Endpoint(self.host, PORT), connections)


@define(eq=False)
class SimulatedNode:
    """What stays over crashes: its number, its disk, and what it shares with the other nodes."""

    node_id: int
    network: Network
    catalogue: Catalogue | SimulatedEtcd
    """One that is there for ever, or where each life of the node finds its own."""
    chance: random.Random
    settings: Mapping[str, object] = field(factory=dict)
    longest_darkness_s: float = LONGEST_DARKNESS_S
    files: MemoryFiles = field(factory=MemoryFiles, init=False)
    directory: SimulatedDirectory = field(factory=SimulatedDirectory, init=False)
    wall: WallSteps = field(factory=WallSteps, init=False)
    lives: int = field(default=0, init=False)
    runtime: NodeRuntime | None = field(default=None, init=False)
    is_serving: bool = field(default=False, init=False)
    failures: list[str] = field(factory=list, init=False)
    """By which it ended although nobody had asked for it, and which only a bug can explain."""
    _life: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _is_to_end: trio.Event = field(factory=trio.Event, init=False)
    _stops: bool = field(default=False, init=False)
    _visits: set[trio.CancelScope] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self.files.make_directories(DATA_DIR)
        self.files.sync_directory("/")

    @property
    def host(self) -> str:
        """By which clients reach it."""
        return f"node-{self.node_id}"

    async def live(self) -> None:
        """One life after the other, until `stop`."""
        HOST.set(self.host)
        while not self._stops:
            await self._live_once()

    def lose_power(self, *, silently: bool = False) -> None:
        """What is not synced is gone; also while it still recovers from the last time. The others are told by its
        kernel that their connections are over, or not even that."""
        if silently:
            self.network.darken(self.host)
        if self.runtime is not None:
            self.runtime.abandon()
        self.is_serving = False
        self._end_visits()
        self.network.deafen(self.host)
        self._life.cancel()

    def restart(self) -> None:
        """Shut down in order and come back."""
        self._is_to_end.set()

    def stop(self) -> None:
        """Shut down in order and stay down."""
        self._stops = True
        self._is_to_end.set()

    async def visited_by(self, caller: Callable[[Services], Awaitable[None]]) -> None:
        """What somebody has it do by one of its other doors, in a task of its own, until that is done or the node
        ends."""
        HOST.set(self.host)
        with trio.CancelScope() as visit:
            self._visits.add(visit)
            try:
                if self.is_serving and self.runtime is not None:
                    await caller(self.runtime.parts.node.services)
            finally:
                self._visits.discard(visit)

    def _end_visits(self) -> None:
        for visit in self._visits:
            visit.cancel()

    async def _live_once(self) -> None:
        self.lives += 1
        async with trio.open_nursery() as threads:
            catalogue = self._catalogue(threads)
            self.runtime = self._make_runtime(threads, catalogue)
            # Threads outlive it: it may wait for one to end what cannot be left half done.
            with trio.CancelScope() as self._life:
                await self._serve_until_shut()
            threads.cancel_scope.cancel()
        self.runtime = None
        if isinstance(catalogue, SimulatedCatalogue):
            catalogue.forget()
        if self._life.cancelled_caught:
            self.files.crash(self.chance)
            harm_indexes(self.files, self.chance, DATA_DIR)
        if not self._stops:
            await sleep(self.chance.random() * self.longest_darkness_s)

    async def _serve_until_shut(self) -> None:
        assert self.runtime is not None
        self._is_to_end = trio.Event()
        if self._stops:
            return
        try:
            async with self.runtime.running():
                self.is_serving = True
                await self._is_to_end.wait()
                self.is_serving = False
                self._end_visits()
        except* BrokerError as refusal:
            # Such as an etcd that does not answer while it starts: whoever looks after it starts it again.
            logger.warning("%s ends: %s", self.host, refusal.exceptions)
        except* Exception as failure:
            self.failures.append(f"{self.host}: {failure.exceptions!r}")
            logger.exception("%s failed", self.host)
        finally:
            self.is_serving = False

    def _catalogue(self, threads: trio.Nursery) -> Catalogue:
        if not isinstance(self.catalogue, SimulatedEtcd):
            return self.catalogue
        own = SimulatedCatalogue(
            self.catalogue,
            self.chance,
            lambda: self.network.is_open((self.host, ETCD)),
            lambda: self.network.is_open((ETCD, self.host)),
        )
        threads.start_soon(own.deliver)
        threads.start_soon(own.session.keep_alive)
        return own

    def _make_runtime(self, threads: trio.Nursery, catalogue: Catalogue) -> NodeRuntime:
        # A node of a cluster has other defaults: three replicas of what coordinators write, two of them in sync.
        etcd = {"etcd.endpoints": f"http://{ETCD}"} if isinstance(self.catalogue, SimulatedEtcd) else {}
        config = BrokerConfig.load(values={**SETTINGS, **etcd, "node.id": self.node_id, **self.settings})
        wait = catalogue.wait if isinstance(catalogue, SimulatedCatalogue) else None
        # A disk of its own, in a cluster: those that share their records differ in how fast they make them durable.
        slowness = 1.0 if wait is None else self.chance.choice(DISK_SLOWNESS)
        outside = Outside(self._dial, wait, self.wall, slowness)
        return NodeRuntime(
            config=config,
            world=make_world(threads, self.files, self.chance, f"boot {self.lives}", outside),
            catalogue=catalogue,
            data_dir=DATA_DIR,
            directory=self.directory,
            descriptors=DescriptorPlan.make(config.settings, 65536),
            listeners=[SimulatedListener(self.host, self.network)],
        )

    async def _dial(self, host: str, _port: int) -> TransportStream:
        return await self.network.dial(host, self.host)
