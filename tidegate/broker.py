"""The broker, composed: catalogue, partitions, sync rounds, timers and the Kafka door in one trio program.

    async with Broker(BrokerConfig.load()) as broker:
        print(broker.kafka_address)

Start: lock the directory, bind the ports, open the catalogue, recover the logs, then listen. Stop: the other
way round; if every log was closed well a mark is left that lets the next start skip recovery.
"""

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from random import SystemRandom
from types import TracebackType

import trio

from coordinators.controller import Controller
from coordinators.group.groups import Groups
from coordinators.internal_topics import InternalTopics
from coordinators.producer_ids import ProducerIds
from coordinators.release.releases import Releases
from coordinators.topics import Topics
from coordinators.transaction.orphans import INTERVAL_S, Orphans
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import in_worker
from engine.catalogue_guarded import GuardedCatalogue, open_catalogue
from engine.clock import SystemClock
from engine.cluster_id import cluster_id
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError
from engine.file_relief import FileRelief
from engine.file_system_kind import FileSystemKind, file_system_kind
from engine.file_system_sync import FileSystemSync, is_available
from engine.files import OsFiles
from engine.journal import Journal
from engine.journal_device import DirectDevice
from engine.kernel_sync import open_kernel_sync
from engine.metrics import Metrics
from engine.partitions import Partitions
from engine.producer_room import ProducerRoom
from engine.record_walk import is_compiled
from engine.sync import RoundSync, SyncRounds
from engine.timers import Timers
from engine.workers import ThreadWorkers
from tidegate.cleaning import Cleaning
from tidegate.config import BrokerConfig
from tidegate.data_directory import CleanMark, DataDirectory
from tidegate.descriptors import DescriptorPlan, descriptor_limit
from tidegate.listening import BoundHttp, BoundListener, bind_all, bind_http, with_door
from tidegate.operations import Operations
from tidegate.scrubbing import Scrubbing
from tidegate.tracing import close_tracing, open_tracing
from wire.http.surroundings import Phase
from wire.kafka.fetch_sessions import FetchSessions
from wire.kafka.long_polls import LongPolls
from wire.kafka.node import Limits, Node
from wire.kafka.server import KafkaServer

logger = logging.getLogger("tidegate")

WORKER_THREADS = 4
WAITERS_CHECK_S = 1.0
LARGEST_JOURNALED_ROUND = 4 * 1024 * 1024
SESSION_EVICTION_MS = 120_000


class Broker:
    """One node. Use it as an async context manager; leaving the block shuts it down cleanly."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.config = config or BrokerConfig.load()
        self.clock = SystemClock()
        self.listeners: list[BoundListener] = []
        self.metrics = Metrics()
        self._http: BoundHttp | None = None
        self._files = OsFiles()
        self._timers = Timers(lambda: self._earlier.set())
        self._marked = trio.Event()
        self._earlier = trio.Event()
        self._stack = AsyncExitStack()

    @property
    def kafka_address(self) -> str:
        """Host and port of the first Kafka listener."""
        return self.listeners[0].address

    @property
    def http_address(self) -> str | None:
        """Host and port of the operations door, or None where it is off."""
        return None if self._http is None else self._http.address

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
        self._descriptors = DescriptorPlan.make(self.config.settings, descriptor_limit())
        self._files.most_open = self._descriptors.logs
        with (
            DataDirectory(self.config.data_directory) as directory,
            bind_all(self.config) as self.listeners,
            bind_http(self.config) as self._http,
            self._threads(self.config.settings, directory.path),
        ):
            catalogue = open_catalogue(str(directory.path), self._files)
            try:
                async with trio.open_nursery() as nursery:
                    # Shielded: closing needs the threads' answers, also after the broker was cancelled.
                    delivery = trio.CancelScope(shield=True)
                    nursery.start_soon(self._deliver_outcomes, delivery)
                    try:
                        async with self._serving(directory, catalogue):
                            yield
                    finally:
                        delivery.cancel()
            finally:
                catalogue.close()

    @asynccontextmanager
    async def _serving(self, directory: DataDirectory, catalogue: GuardedCatalogue) -> AsyncIterator[None]:
        node = await self._compose(directory.path, catalogue)
        mark = directory.take_clean_mark()
        async with self.operations.open():
            began = self.clock.monotonic()
            try:
                await self._open_logs(node, mark)
            except BaseException:
                if mark is not None:
                    # What it says of the logs must be so at the next start too.
                    directory.leave_clean_mark(mark.logs)
                raise
            self.operations.recovered(self.clock.monotonic() - began, clean=mark is not None)
            if not is_compiled:
                logger.warning("records are checked in Python, a microsecond each: tools/compile.py has not been run")
            try:
                async with trio.open_nursery() as nursery:
                    node.controller.start_soon = nursery.start_soon
                    self._start_tasks(nursery, node)
                    self.operations.serves(self.server)
                    yield
                    nursery.cancel_scope.cancel()
            finally:
                # What would begin now is left to the next start.
                node.controller.start_soon = lambda *_: None
                self.operations.enter(Phase.STOPPING)
                with trio.CancelScope(shield=True):
                    await self._close_logs(node, directory)

    async def _open_logs(self, node: Node, mark: CleanMark | None) -> None:
        clean = mark is not None
        node.partitions.left = mark.logs if mark is not None else {}
        # Stages first: coordinators go on where they were, and what they decided must reach what is staged.
        await in_worker(self._workers, partial(self._journal.open, self.clock.now_ms(), clean=clean))
        await node.controller.open_all(clean=clean, then=partial(node.releases.open_all, clean=clean))
        node.partitions.left = {}
        self._journal.start()

    @contextmanager
    def _threads(self, settings: BrokerSettings, data_dir: Path) -> Iterator[None]:
        self._outcomes = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

        def wake_up() -> None:
            os.eventfd_write(self._outcomes, 1)

        kind = file_system_kind(*(str(data_dir / each) for each in ("", "topics", "journal")))
        whole = FileSystemSync(str(data_dir)) if kind.is_known and is_available() else None
        self._kernel_sync = open_kernel_sync(self._outcomes)
        round_sync = RoundSync(settings.integer("log.sync.threads"), whole, self.clock.monotonic, self._kernel_sync)
        self._workers = ThreadWorkers(WORKER_THREADS, wake_up, "worker")
        self._sync_worker = ThreadWorkers(1, wake_up, "sync")
        self._cleaner_workers = ThreadWorkers(settings.integer("log.cleaner.threads"), wake_up, "cleaner")
        self._journal = self._make_journal(settings, str(data_dir), kind)
        self._rounds = SyncRounds(
            self._sync_worker, lambda: self._marked.set(), round_sync, self._journal, self._workers
        )
        try:
            yield
        finally:
            self._workers.close()
            self._sync_worker.close()
            self._cleaner_workers.close()
            if self._kernel_sync is not None:
                self._kernel_sync.close()
            self._journal.close()
            os.close(self._outcomes)
            round_sync.close()
            if whole is not None:
                whole.close()

    def _make_journal(self, settings: BrokerSettings, data_dir: str, kind: FileSystemKind) -> Journal:
        """Where it is turned off, or the kernel cannot do it, it is still read: the last broker may have left one."""
        device, why = None, ""
        if not settings.flag("log.journal.enable"):
            why = "log.journal.enable is false"
        elif self._kernel_sync is None:
            why = "this system cannot write past its cache by itself"
        elif not kind.is_known:
            why = f"the data directory is on {kind.name}, which is not known to keep what is written past its cache"
        else:
            device = DirectDevice(self._kernel_sync, self._files, LARGEST_JOURNALED_ROUND)
        way = "the journal" if device is not None else "syncing their files"
        fields = {"file_system": kind.name, **({"reason": why} if why else {})}
        logger.info("records are made durable by %s", way, extra=fields)
        slot_bytes, slots = settings.integer("log.journal.segment.bytes"), settings.integer("log.journal.segments")
        return Journal(
            data_dir, self._files, device, self._workers, os.urandom, slot_bytes=slot_bytes, slot_count=slots
        )

    async def _compose(self, data_dir: Path, catalogue: GuardedCatalogue) -> Node:
        workers, config = self._workers, self.config
        given = with_door(config.given, self._http)
        topics = await in_worker(workers, Topics.load, catalogue, given, config.node_id, os.urandom)
        partitions = Partitions(
            data_dir=str(data_dir),
            files=self._files,
            clock=self.clock,
            workers=workers,
            rounds=self._rounds,
            call_later=self._call_later,
            log_error=logger.error,
            journal=self._journal,
            producer_room=ProducerRoom(topics.settings.integer("max.producer.ids")),
        )
        self._descriptors.tell(config.settings)
        relief = FileRelief(self._files, partitions.with_stages, self._rounds.settle, partial(self._call_later, 0))
        self.metrics.register(relief.collect)
        controller = Controller(topics, partitions, lambda *call: in_worker(workers, *call))
        internal_topics = InternalTopics(controller)
        groups = Groups.compose(internal_topics, topics.settings, self.clock, self._timers, workers, os.urandom)
        tracing = await open_tracing(controller, groups, self.clock, self._timers, workers, os.urandom, str(data_dir))
        producer_ids = ProducerIds(catalogue)
        node = Node(
            node_id=config.node_id,
            cluster_id=await in_worker(workers, cluster_id, catalogue, os.urandom),
            rack=_rack(topics.settings),
            topics=topics,
            partitions=partitions,
            controller=controller,
            producer_ids=producer_ids,
            internal_topics=internal_topics,
            groups=groups,
            transactions=Transactions.compose(
                internal_topics, groups, producer_ids, topics.settings, self.clock, self._timers, workers
            ),
            releases=Releases.compose(controller, producer_ids, self.clock, self._timers, tracing),
            clock=self.clock,
            timers=self._timers,
            workers=workers,
            limits=_limits(topics.settings, self._descriptors),
            fetch_sessions=FetchSessions(
                topics.settings.integer("max.incremental.fetch.session.cache.slots"),
                SESSION_EVICTION_MS,
                self.clock,
                SystemRandom(),
                topics.settings.integer("socket.request.max.elements"),
            ),
            tracing=tracing,
            long_polls=LongPolls(topics.settings.integer("fetch.max.waiting.requests")),
        )
        self.node = node
        self.scrubbing = await Scrubbing.make(
            partitions, self._journal, catalogue, workers, self.clock, topics.settings
        )
        self.operations = Operations.compose(
            node, self.metrics, self._http, self.listeners, self._descriptors, self.scrubbing
        )
        self.cleaning = Cleaning.make(partitions, self._cleaner_workers, self.clock, topics.settings)
        return node

    def _start_tasks(self, nursery: trio.Nursery, node: Node) -> None:
        server = self.server = KafkaServer(node)
        self._rounds.before_outcomes, self._rounds.after_outcomes = server.cork, server.uncork
        node.partitions.storage.keep_reserve(node.topics.settings.integer("log.deletion.reserve.bytes"))
        nursery.start_soon(self._drive_syncs)
        nursery.start_soon(self._drive_timers)
        nursery.start_soon(self._expire_waiters, node)
        nursery.start_soon(node.controller.finish_deletions)
        node.releases.dead_letters.start()
        nursery.start_soon(server.close_idle)
        self.cleaning.start(nursery)
        nursery.start_soon(self.scrubbing.run)
        nursery.start_soon(self._sweep_orphans, Orphans(node.transactions))
        for listener in self.listeners:
            listener.listen()
            nursery.start_soon(server.serve, listener.socket, listener.endpoint)

    async def _close_logs(self, node: Node, directory: DataDirectory) -> None:
        """Sync and close every log; the mark is left only if all went well."""
        await self.scrubbing.close()
        await close_tracing(node.tracing, self._workers)
        self.cleaning.stop()
        await self._settle(node)
        await node.releases.close()
        await self._settle(node)
        try:
            await in_worker(self._workers, lambda: node.partitions.close(clean=True))
            directory.leave_clean_mark(node.partitions.extents())
        except (BrokerError, OSError) as error:
            logger.error("a log could not be closed cleanly; the next start will recover: %s", error)

    async def _settle(self, node: Node) -> None:
        """Wait until nothing is written or synced any more."""
        while not (self._rounds.idle() and node.partitions.idle() and self.cleaning.idle()):
            self._rounds.start_round()
            await trio.sleep(0.001)

    # -- tasks

    async def _deliver_outcomes(self, scope: trio.CancelScope) -> None:
        """Call back for jobs that threads have finished."""
        with scope:
            while True:
                await trio.lowlevel.wait_readable(self._outcomes)
                os.eventfd_read(self._outcomes)
                if self._kernel_sync is not None:
                    self._kernel_sync.deliver()
                self._sync_worker.deliver()
                self._workers.deliver()
                self._cleaner_workers.deliver()

    async def _drive_syncs(self) -> None:
        while True:
            await self._marked.wait()
            self._marked = trio.Event()
            self._rounds.start_round()

    async def _drive_timers(self) -> None:
        while True:
            self._earlier = trio.Event()
            deadline = self._timers.next_deadline()
            if deadline is None:
                await self._earlier.wait()
            else:
                with trio.move_on_after(max(0, deadline - self.clock.monotonic())):
                    await self._earlier.wait()
            try:
                self._timers.run_due(self.clock.monotonic())
            except Exception:
                # A bug of whoever set the timer; the others are called in the next round.
                logger.exception("a timer's call failed")

    async def _expire_waiters(self, node: Node) -> None:
        while True:
            await trio.sleep(WAITERS_CHECK_S)
            node.partitions.expire_waiters(self.clock.monotonic())

    async def _sweep_orphans(self, orphans: Orphans) -> None:
        while True:
            orphans.sweep()
            await trio.sleep(INTERVAL_S)

    def _call_later(self, delay_s: float, callback: Callable[[], object]) -> None:
        self._timers.call_at(self.clock.monotonic() + delay_s, callback)


def _leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in nested groups, which trio's nurseries make of what passes them."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in _leaves(each)]


def _unwrapped(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception in the group, or the group if there are several."""
    leaves = _leaves(group)
    return leaves[0] if len(leaves) == 1 else group


def _rack(settings: BrokerSettings) -> str | None:
    return None if settings["broker.rack"] is None else settings.text("broker.rack")


def _limits(settings: BrokerSettings, descriptors: DescriptorPlan) -> Limits:
    return Limits(
        max_frame_bytes=settings.integer("socket.request.max.bytes"),
        max_control_frame_bytes=settings.integer("socket.control.request.max.bytes"),
        max_large_request_bytes=settings.integer("queued.max.request.bytes"),
        max_connections=descriptors.connections,
        max_connections_per_address=settings.integer("max.connections.per.ip"),
        max_idle_ms=settings.integer("connections.max.idle.ms"),
        max_requests_in_flight=settings.integer("connection.max.inflight.requests"),
        max_bytes_in_flight=settings.integer("connection.max.inflight.bytes"),
        max_request_elements=settings.integer("socket.request.max.elements"),
        max_response_bytes=settings.integer("socket.response.max.bytes"),
        request_progress_timeout_ms=settings.integer("socket.request.progress.timeout.ms"),
        max_fetch_bytes=settings.integer("fetch.max.bytes"),
        max_decompression_ratio=settings.integer("decompression.max.ratio"),
        max_request_decompressed_bytes=settings.integer("request.max.decompressed.bytes"),
        max_decompressed_bytes=settings.integer("queued.max.decompressed.bytes"),
    )
