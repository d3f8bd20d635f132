"""A real node that lives in a simulated world, loses its power, and comes back on the same disk."""

import random
from collections.abc import Mapping
from functools import partial

import trio
from attrs import define, field

from engine.catalogue.memory import MemoryCatalogue
from engine.files.memory import MemoryFiles
from engine.log.types import LogExtent
from tests.simulation.harm import harm_indexes
from tests.simulation.network import PORT, Network
from tests.simulation.world import make_world
from tidegate.config import BrokerConfig
from tidegate.data_directory import CleanMark
from tidegate.descriptors import DescriptorPlan
from tidegate.runtime import NodeRuntime
from wire.kafka.request import Endpoint
from wire.transport import Transport

DATA_DIR = "/data"
SETTINGS: Mapping[str, object] = {
    "log.dirs": DATA_DIR,
    "http.port": 0,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "group.initial.rebalance.delay.ms": 0,
    "trace.events.topic.enable": "false",
    "log.roll.ms": 400,
    "log.journal.segment.bytes": 1 << 20,
    "log.index.interval.bytes": 512,
}
LONGEST_DARKNESS_S = 0.5


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
class SimulatedNode:
    """What stays over crashes: its number, its disk, and what it shares with the other nodes."""

    node_id: int
    network: Network
    catalogue: MemoryCatalogue
    chance: random.Random
    settings: Mapping[str, object] = field(factory=dict)
    files: MemoryFiles = field(factory=MemoryFiles, init=False)
    directory: SimulatedDirectory = field(factory=SimulatedDirectory, init=False)
    lives: int = field(default=0, init=False)
    runtime: NodeRuntime | None = field(default=None, init=False)
    _connections: trio.Nursery | None = field(default=None, init=False)
    _life: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _stops: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.files.make_directories(DATA_DIR)
        self.files.sync_directory("/")

    @property
    def host(self) -> str:
        """By which clients reach it."""
        return f"node-{self.node_id}"

    async def live(self) -> None:
        """One life after the other, until `stop`."""
        while not self._stops:
            await self._live_once()

    def lose_power(self) -> None:
        """What is not synced is gone, and nobody is told; also while it still recovers from the last time."""
        if self.runtime is not None:
            self.runtime.abandon()
        self._shut()
        self._life.cancel()

    def stop(self) -> None:
        """Shut down in order and stay down."""
        self._stops = True
        self._shut()

    def _shut(self) -> None:
        """Let nobody in any more, and end who is there."""
        self.network.deafen(self.host)
        if self._connections is not None:
            self._connections.cancel_scope.cancel()
            self._connections = None

    async def _live_once(self) -> None:
        self.lives += 1
        async with trio.open_nursery() as threads:
            self.runtime = self._make_runtime(threads)
            # Threads outlive it: it may wait for one to end what cannot be left half done.
            with trio.CancelScope() as self._life:
                async with self.runtime.running():
                    await self._serve()
            threads.cancel_scope.cancel()
        self.runtime = None
        if self._life.cancelled_caught:
            self.files.crash(self.chance)
            harm_indexes(self.files, self.chance, DATA_DIR)
            await trio.sleep(self.chance.random() * LONGEST_DARKNESS_S)

    def _make_runtime(self, threads: trio.Nursery) -> NodeRuntime:
        config = BrokerConfig.load(values={**SETTINGS, "node.id": self.node_id, **self.settings})
        return NodeRuntime(
            config=config,
            world=make_world(threads, self.files, self.chance, f"boot {self.lives}"),
            catalogue=self.catalogue,
            data_dir=DATA_DIR,
            directory=self.directory,
            descriptors=DescriptorPlan.make(config.settings, 65536),
        )

    async def _serve(self) -> None:
        try:
            async with trio.open_nursery() as connections:
                if not self._stops:
                    self._connections = connections
                    self.network.listen(self.host, partial(self._admit, connections))
                    await trio.sleep_forever()
        finally:
            # The power may have gone while it was about to open.
            self._shut()

    def _admit(self, connections: trio.Nursery, transport: Transport) -> None:
        assert self.runtime is not None
        self.runtime.parts.server.admit(transport, Endpoint(self.host, PORT), connections)
