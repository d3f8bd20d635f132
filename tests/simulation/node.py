"""A real node that lives in a simulated world, loses its power, and comes back on the same disk."""

import random
import socket
from collections.abc import Mapping

import trio
from attrs import define, field

from engine.catalogue.memory import MemoryCatalogue
from engine.files.memory import MemoryFiles
from engine.log.types import LogExtent
from tests.simulation.harm import harm_indexes
from tests.simulation.world import make_world
from tidegate.config import BrokerConfig
from tidegate.data_directory import CleanMark
from tidegate.descriptors import DescriptorPlan
from tidegate.runtime import NodeRuntime
from wire.kafka.request import Endpoint
from wire.transport import SocketTransport

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
ENDPOINT = Endpoint("simulated", 9092)
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
    """What stays over crashes: the disk, the catalogue, and who is connected to what."""

    chance: random.Random
    settings: Mapping[str, object] = field(factory=dict)
    files: MemoryFiles = field(factory=MemoryFiles, init=False)
    catalogue: MemoryCatalogue = field(factory=MemoryCatalogue, init=False)
    directory: SimulatedDirectory = field(factory=SimulatedDirectory, init=False)
    lives: int = field(default=0, init=False)
    runtime: NodeRuntime | None = field(default=None, init=False)
    _connections: trio.Nursery | None = field(default=None, init=False)
    _up: trio.Event = field(factory=trio.Event, init=False)
    _life: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _stops: bool = field(default=False, init=False)
    _clients: list[socket.socket] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.files.make_directories(DATA_DIR)
        self.files.sync_directory("/")

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
        if self._connections is not None:
            self._connections.cancel_scope.cancel()
            self._connections, self._up = None, trio.Event()

    def disconnect(self) -> None:
        """Close what clients have left open."""
        for client in self._clients:
            client.close()

    async def connect(self) -> trio.SocketStream:
        """A connection to the node, once it is there."""
        while self._connections is None or self.runtime is None:
            await self._up.wait()
        ours, theirs = socket.socketpair()
        self._clients.append(ours)
        ours.setblocking(False)
        theirs.setblocking(False)
        self.runtime.parts.server.admit(SocketTransport(theirs, ("simulated", 1)), ENDPOINT, self._connections)
        return trio.SocketStream(trio.socket.from_stdlib_socket(ours))

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
        config = BrokerConfig.load(values={**SETTINGS, **self.settings})
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
                    self._up.set()
                    await trio.sleep_forever()
        finally:
            # The power may have gone while it was about to open.
            self._shut()
