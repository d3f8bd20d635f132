"""The broker, composed: catalogue, partitions, sync rounds, timers and the Kafka door in one trio program.

    async with Broker(BrokerConfig.load()) as broker:
        print(broker.kafka_address)

Start: lock the directory, bind the ports, open the catalogue, recover the logs, then listen. Stop: the other way round, and
if every log was closed well a mark is left that lets the next start skip recovery.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import SystemRandom
from types import TracebackType

import trio

from coordinators.producer_ids import ProducerIds
from coordinators.topics import Topics
from engine.catalogue_sqlite import SqliteCatalogue
from engine.clock import SystemClock
from engine.cluster_id import cluster_id
from engine.config.resolve import BrokerSettings
from engine.files import OsFiles
from engine.partitions import Partitions
from engine.sync import SyncRounds
from engine.timers import Timers
from engine.workers import ThreadWorkers
from tidegate.config import BrokerConfig
from tidegate.data_directory import DataDirectory
from tidegate.listening import BoundListener, bind_all
from wire.kafka.fetch_sessions import FetchSessions
from wire.kafka.node import Limits, Node
from wire.kafka.server import KafkaServer
from wire.kafka.topic_changes import TopicChanges

logger = logging.getLogger("tidegate")

WORKER_THREADS = 4
WAITERS_CHECK_S = 1.0


class Broker:
    """One node. Use it as an async context manager; leaving the block shuts it down cleanly."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.config = config or BrokerConfig.load()
        self.clock = SystemClock()
        self.timers = Timers(self._timer_is_earlier)
        self._marked = trio.Event()
        self._earlier = trio.Event()
        self._stack = AsyncExitStack()
        self.listeners: list[BoundListener] = []

    @property
    def kafka_address(self) -> str:
        """Host and port of the first Kafka listener."""
        return self.listeners[0].address

    async def __aenter__(self) -> "Broker":
        try:
            await self._stack.enter_async_context(self._running())
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        settings = self.config.settings
        with DataDirectory(self.config.data_directory) as directory, bind_all(self.config) as self.listeners:
            with self._threads(settings):
                node = await self._node(directory.path, settings)
                self.node = node
                try:
                    clean = directory.take_clean_mark()
                    await node.topic_changes.open_all(clean=clean)
                    async with trio.open_nursery() as nursery:
                        self._start_tasks(nursery, node)
                        yield
                        nursery.cancel_scope.cancel()
                finally:
                    with trio.CancelScope(shield=True):
                        await self._close(node, directory)
