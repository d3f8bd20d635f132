"""The broker: one node on this machine, as an async context manager.

    async with Broker(BrokerConfig.load()) as broker:
        print(broker.kafka_address)

Start: lock the directory, bind the ports, open the catalogue, recover the logs, then listen. Stop: the other
way round; if every log was closed well a mark is left that lets the next start skip recovery.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType

import trio

from coordinators.scrubbing import Scrubbing
from engine.clock import SystemClock
from engine.files.files import OsFiles
from engine.metrics import Metrics
from tidegate.catalogues import OpenCatalogue, open_catalogue
from tidegate.cleaning import Cleaning
from tidegate.config import BrokerConfig
from tidegate.data_directory import DataDirectory
from tidegate.descriptors import DescriptorPlan, descriptor_limit
from tidegate.entrances import Entrances
from tidegate.listening import BoundDoors, BoundListener, bind_all, bind_doors
from tidegate.machine import MachineWorld, machine
from tidegate.node import Node
from tidegate.operations import Operations
from tidegate.runtime import NodeRuntime
from wire.kafka.server import KafkaServer

logger = logging.getLogger("tidegate")


class Broker:
    """One node. Leaving the block shuts it down cleanly."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.config = config or BrokerConfig.load()
        self.clock = SystemClock()
        self.listeners: list[BoundListener] = []
        self.metrics = Metrics()
        self._doors = BoundDoors()
        self._stack = AsyncExitStack()

    @property
    def node(self) -> Node:
        """The parts of the node."""
        return self.runtime.parts.node

    @property
    def server(self) -> KafkaServer:
        """The Kafka door."""
        return self.runtime.parts.server

    @property
    def operations(self) -> Operations:
        """The operations door."""
        return self.runtime.parts.operations

    @property
    def cleaning(self) -> Cleaning:
        """Retention and compaction."""
        return self.runtime.parts.cleaning

    @property
    def scrubbing(self) -> Scrubbing:
        """Who looks for damage."""
        return self.runtime.parts.scrubbing

    @property
    def kafka_address(self) -> str:
        """Host and port of the first Kafka listener."""
        return self.listeners[0].address

    @property
    def http_address(self) -> str | None:
        """Host and port of the operations door, or None where it is off."""
        return None if self._doors.http is None else self._doors.http.address

    @property
    def grpc_address(self) -> str | None:
        """Host and port of the gRPC door, or None where it is off."""
        return None if self._doors.grpc is None else self._doors.grpc.address

    @property
    def text_address(self) -> str | None:
        """Host and port of the text door, or None where it is off."""
        return None if self._doors.text is None else self._doors.text.address

    @property
    def registry_address(self) -> str | None:
        """Host and port of the schema registry, or None where it is off."""
        return None if self._doors.registry is None else self._doors.registry.address

    async def reload(self) -> None:
        """Read certificates and users again, if their files have changed."""
        await self.node.services[Entrances].reload()

    async def __aenter__(self) -> "Broker":
        try:
            await self._stack.enter_async_context(self._running())
        except BaseExceptionGroup as group:
            raise _unwrapped(group) from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            return await self._stack.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as group:
            if error is not None and _leaves(group) == _leaves(error):
                return False  # what the program raised, wrapped by our nurseries on its way
            raise _unwrapped(group) from None

    # -- life

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        settings = self.config.settings
        descriptors = DescriptorPlan.make(settings, descriptor_limit())
        files = OsFiles(most_open=descriptors.logs)
        with (
            DataDirectory(self.config.data_directory) as directory,
            bind_all(self.config) as self.listeners,
            bind_doors(self.config) as self._doors,
            machine(settings, directory.path, files) as here,
        ):
            async with open_catalogue(self.config, directory.path, files, self.clock) as opened:
                self.runtime = self._runtime(here, opened, directory, descriptors)
                async with _delivering(here), self.runtime.running():
                    yield

    def _runtime(
        self, here: MachineWorld, opened: OpenCatalogue, directory: DataDirectory, descriptors: DescriptorPlan
    ) -> NodeRuntime:
        return NodeRuntime(
            config=self.config,
            world=here.world,
            catalogue=opened.catalogue,
            data_dir=str(directory.path),
            directory=directory,
            descriptors=descriptors,
            listeners=self.listeners,
            doors=self._doors,
            other_files=opened.other_files,
            metrics=self.metrics,
        )


@asynccontextmanager
async def _delivering(here: MachineWorld) -> AsyncIterator[None]:
    """Shielded: closing needs the threads' answers, also after the broker was cancelled."""
    async with trio.open_nursery() as nursery:
        delivery = trio.CancelScope(shield=True)
        nursery.start_soon(here.deliver_outcomes, delivery)
        try:
            yield
        finally:
            delivery.cancel()


def _leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in nested groups, which trio's nurseries make of what passes them."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in _leaves(each)]


def _unwrapped(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception in the group, or the group if there are several."""
    leaves = _leaves(group)
    return leaves[0] if len(leaves) == 1 else group
