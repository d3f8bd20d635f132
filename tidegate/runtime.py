"""One node in the world it is given: composed, recovered, serving, closed.

It knows no sockets, threads or clocks of its own (tidegate/world.py), and nothing of where its data lies but a path
within the world's files. `Broker` runs one on this machine; the simulation runs them in a world of its own.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol

import trio
from attrs import define, evolve, field

from coordinators.background import Background
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.deletions import Deletions
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.group.groups import Groups
from coordinators.internal_topics import InternalTopics
from coordinators.node_identity import NodeIdentity
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.release.releases import Releases
from coordinators.scrubbing import Scrubbing
from coordinators.topics import Topics
from coordinators.transaction.markers import LocalMarkers
from coordinators.transaction.orphans import INTERVAL_S, Orphans
from coordinators.transaction.ports import TransactionVerification
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import cluster_id
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError
from engine.files.files import OsFiles
from engine.files.relief import FileRelief
from engine.journal.journal import Journal
from engine.log.producer_room import ProducerRoom
from engine.log.types import LogExtent
from engine.metrics import Metrics
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.records.walk import is_compiled
from engine.scrub.steps import OtherFile
from engine.timers import Timers
from engine.workers import Workers
from tidegate.cleaning import Cleaning
from tidegate.config import BrokerConfig
from tidegate.data_directory import CleanMark
from tidegate.descriptors import DescriptorPlan
from tidegate.kafka_door import door_services, kafka_server
from tidegate.listening import BoundHttp, BoundListener, with_door
from tidegate.node import Node
from tidegate.operations import Operations, http_limits
from tidegate.tracing import close_tracing, open_tracing
from tidegate.world import World
from wire.http.life import Phase
from wire.kafka.cork import Cork
from wire.kafka.server import KafkaServer
from wire.services import Services

logger = logging.getLogger("tidegate")

WAITERS_CHECK_S = 1.0
SETTLE_CHECK_S = 0.001


class MarkedDirectory(Protocol):
    """Tells the next start whether this one left the logs in order (tidegate/data_directory.py)."""

    def take_clean_mark(self) -> CleanMark | None:
        """What the last node left if it shut down cleanly; from now on it counts as not."""

    def leave_clean_mark(self, logs: Mapping[str, LogExtent]) -> None:
        """Every log was closed well."""


@define(eq=False)
class NodeRuntime:
    """Use `running` as an async context manager; leaving the block shuts the node down cleanly."""

    config: BrokerConfig
    world: World
    catalogue: Catalogue
    data_dir: str
    directory: MarkedDirectory
    descriptors: DescriptorPlan
    listeners: Sequence[BoundListener] = ()
    http: BoundHttp | None = None
    other_files: Sequence[OtherFile] = ()
    """What the scrubber looks at besides the logs and the journal."""
    metrics: Metrics = field(factory=Metrics)
    node: Node = field(init=False)
    server: KafkaServer = field(init=False)
    operations: Operations = field(init=False)
    cleaning: Cleaning = field(init=False)
    scrubbing: Scrubbing = field(init=False)
    journal: Journal = field(init=False)
    _rounds: SyncRounds = field(init=False)
    _deletions: Deletions = field(init=False)
    _timers: Timers = field(init=False)
    _cork: Cork = field(factory=Cork, init=False)
    _background: Background = field(factory=Background, init=False)
    _marked: trio.Event = field(factory=trio.Event, init=False)
    _earlier: trio.Event = field(factory=trio.Event, init=False)
    _abandoned: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        world, settings = self.world, self.config.settings
        self._timers = Timers(lambda: self._earlier.set())
        self.journal = Journal(
            self.data_dir,
            world.files,
            world.journal_device,
            world.workers,
            world.random_bytes,
            slot_bytes=settings.integer("log.journal.segment.bytes"),
            slot_count=settings.integer("log.journal.segments"),
        )
        self._rounds = SyncRounds(
            world.sync_workers, lambda: self._marked.set(), world.round_sync, self.journal, world.workers, self._cork
        )

    # -- life

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the length of the block."""
        clock = self.world.clock
        try:
            node = await self._compose()
            mark = self.directory.take_clean_mark()
            async with self.operations.open():
                began = clock.monotonic()
                try:
                    await self._open_logs(node, mark)
                except BaseException:
                    if mark is not None:
                        # What it says of the logs must be so at the next start too.
                        self.directory.leave_clean_mark(mark.logs)
                    raise
                self.operations.recovered(clock.monotonic() - began, clean=mark is not None)
                if not is_compiled:
                    logger.warning(
                        "records are checked in Python, a microsecond each: tools/compile.py has not been run"
                    )
                async with self._serving(node):
                    yield
        finally:
            self.journal.close()

    async def _open_logs(self, node: Node, mark: CleanMark | None) -> None:
        clean, now_ms = mark is not None, self.world.clock.now_ms()
        with node.partitions.expecting(mark.logs if mark is not None else {}):
            # Stages first: coordinators go on where they were, and what they decided must reach what is staged.
            await in_worker(self.world.workers, partial(self.journal.open, now_ms, clean=clean))
            await node.controller.replicas.open_all(clean=clean, then=partial(node.releases.open_all, clean=clean))
        self.journal.start(self._rounds.settle)

    @asynccontextmanager
    async def _serving(self, node: Node) -> AsyncIterator[None]:
        try:
            async with trio.open_nursery() as nursery:
                with self._background.open(nursery):
                    self._start_tasks(nursery, node)
                    self.operations.enter(Phase.READY)
                    yield
                nursery.cancel_scope.cancel()
        finally:
            self.operations.enter(Phase.STOPPING)
            if not self._abandoned:
                with trio.CancelScope(shield=True):
                    await self._close_logs(node)

    def abandon(self) -> None:
        """Close nothing when the block is left, as if the process had been killed: for simulations."""
        self._abandoned = True

    async def _compose(self) -> Node:
        world, config = self.world, self.config
        clock, workers, random_bytes = world.clock, world.workers, world.random_bytes
        settings = evolve(config.settings, static=with_door(config.given, self.http))
        topics = await in_worker(workers, Topics.load, self.catalogue, settings, config.node_id, random_bytes)
        partitions = self._make_partitions(topics.settings)
        self.descriptors.tell(config.settings)
        replicas = ReplicaManager(self.catalogue, topics, partitions, workers, self._background)
        controller = ClusterController(replicas)
        internal_topics = InternalTopics(controller)
        groups = Groups.compose(internal_topics, topics.settings, clock, self._timers, workers, random_bytes)
        tracing = await open_tracing(controller, groups, clock, self._timers, workers, random_bytes, self.data_dir)
        producer_ids = ProducerIds(self.catalogue)
        directory = PartitionDirectory(topics, partitions)
        markers = LocalMarkers(directory, clock)
        transactions = Transactions(
            internal_topics, producer_ids, markers, topics.settings, clock, self._timers, workers
        )
        releases = Releases.compose(controller, producer_ids, clock, self._timers, tracing)
        self._deletions = Deletions(controller, [groups.forget_topics])
        cluster = await in_worker(workers, cluster_id, self.catalogue, random_bytes)
        identity = NodeIdentity(config.node_id, cluster, _rack(topics.settings))
        domain = (
            identity,
            topics,
            partitions,
            directory,
            controller,
            internal_topics,
            producer_ids,
            groups,
            transactions,
            markers,
            releases,
            tracing,
            self._timers,
        )
        services = Services(
            {Clock: clock, Workers: workers, TransactionVerification: transactions}
            | {type(each): each for each in domain}
        )
        services = services.extended(door_services(services, clock, workers, world.chance, self.descriptors))
        self.node = Node(services, clock, workers)
        self.scrubbing = await Scrubbing.make(
            partitions, self.journal, self.other_files, workers, clock, topics.settings
        )
        self.server = kafka_server(self.node, self._cork)
        self.operations = Operations.compose(
            self.node,
            self.metrics,
            self.scrubbing,
            self.server,
            self.listeners,
            self.http,
            http_limits(topics.settings, self.descriptors),
        )
        self.cleaning = Cleaning.make(partitions, world.cleaner_workers, clock, topics.settings, world.pause)
        return self.node

    def _make_partitions(self, settings: BrokerSettings) -> Partitions:
        world = self.world
        partitions = Partitions(
            data_dir=self.data_dir,
            files=world.files,
            clock=world.clock,
            workers=world.workers,
            rounds=self._rounds,
            call_later=self._call_later,
            log_error=logger.error,
            journal=self.journal,
            producer_room=ProducerRoom(settings.integer("max.producer.ids")),
        )
        if isinstance(world.files, OsFiles):
            relief = FileRelief(world.files, partitions.logs, self._rounds.settle, self._call_later)
            self.metrics.register(relief.collect)
        return partitions

    def _start_tasks(self, nursery: trio.Nursery, node: Node) -> None:
        server = self.server
        node.partitions.storage.keep_reserve(node.topics.settings.integer("log.deletion.reserve.bytes"))
        nursery.start_soon(self._drive_syncs)
        nursery.start_soon(self._drive_timers)
        nursery.start_soon(self._expire_waiters, node)
        nursery.start_soon(node.controller.replicas.follow)
        nursery.start_soon(self._deletions.finish_all)
        node.releases.dead_letters.start()
        nursery.start_soon(server.close_idle)
        self.cleaning.start(nursery)
        nursery.start_soon(self.scrubbing.run)
        nursery.start_soon(self._sweep_orphans, Orphans(node.transactions))
        for listener in self.listeners:
            listener.listen()
            nursery.start_soon(server.serve, listener.socket, listener.endpoint)

    async def _close_logs(self, node: Node) -> None:
        """Sync and close every log; the mark is left only if all went well."""
        await self.scrubbing.close()
        await close_tracing(node.tracing, self.world.workers)
        self.cleaning.stop()
        await self._settle(node)
        await node.releases.close()
        await self._settle(node)
        try:
            await in_worker(self.world.workers, lambda: node.partitions.close(clean=True))
            self.directory.leave_clean_mark(node.partitions.extents())
        except (BrokerError, OSError) as error:
            logger.error("a log could not be closed cleanly; the next start will recover: %s", error)

    async def _settle(self, node: Node) -> None:
        """Wait until nothing is written or synced any more."""
        while not (self._rounds.idle() and node.partitions.idle() and self.cleaning.idle()):
            self._rounds.start_round()
            await trio.sleep(SETTLE_CHECK_S)

    # -- tasks

    async def _drive_syncs(self) -> None:
        while True:
            await self._marked.wait()
            self._marked = trio.Event()
            self._rounds.start_round()

    async def _drive_timers(self) -> None:
        clock = self.world.clock
        while True:
            self._earlier = trio.Event()
            deadline = self._timers.next_deadline()
            if deadline is None:
                await self._earlier.wait()
            else:
                with trio.move_on_after(max(0, deadline - clock.monotonic())):
                    await self._earlier.wait()
            try:
                self._timers.run_due(clock.monotonic())
            except Exception:
                # A bug of whoever set the timer; the others are called in the next round.
                logger.exception("a timer's call failed")

    async def _expire_waiters(self, node: Node) -> None:
        while True:
            await trio.sleep(WAITERS_CHECK_S)
            node.partitions.expire_waiters(self.world.clock.monotonic())

    async def _sweep_orphans(self, orphans: Orphans) -> None:
        while True:
            orphans.sweep()
            await trio.sleep(INTERVAL_S)

    def _call_later(self, delay_s: float, callback: Callable[[], object]) -> None:
        self._timers.call_at(self.world.clock.monotonic() + delay_s, callback)


def _rack(settings: BrokerSettings) -> str | None:
    return None if settings["broker.rack"] is None else settings.text("broker.rack")
