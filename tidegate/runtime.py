"""One node in the world it is given: composed, recovered, serving, closed.

It knows no sockets, threads or clocks of its own (tidegate/world.py), and nothing of where its data lies but a path
within the world's files. `Broker` runs one on this machine; the simulation runs them in a world of its own.
"""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

import trio
from attrs import define, evolve, field

from coordinators.access.access import AccessControl
from coordinators.cluster.deletions import Deletions
from coordinators.release.dead_letters import DeadLetters
from coordinators.scrubbing import Scrubbing
from coordinators.share.dead_letters import ShareDeadLetters
from coordinators.share.letter_search import LetterSearch
from coordinators.transaction.orphans import INTERVAL_S, Orphans
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import NodeRecord
from engine.errors import BrokerError, StorageError
from engine.log.types import LogExtent
from engine.metrics import Metrics
from engine.records.walk import is_compiled
from engine.scrub.steps import OtherFile
from tidegate.authorization import publish_audit
from tidegate.cleaning import Cleaning
from tidegate.clustering import Clustering
from tidegate.composition import Foundation, Parts, compose_node, relieve_files
from tidegate.config import BrokerConfig
from tidegate.data_directory import CleanMark
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.kafka_door import kafka_server
from tidegate.listening import BoundDoors, Listening, with_door
from tidegate.node import Node
from tidegate.operations import Operations, http_limits
from tidegate.schemas import RegistryDoor
from tidegate.tenants import bind_listeners
from tidegate.tracing import close_tracing
from tidegate.world import World
from wire.http.life import Phase

if TYPE_CHECKING:
    from tidegate.grpc_door import GrpcDoorway
    from tidegate.text_door import TextDoor

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
    listeners: Sequence[Listening] = ()
    doors: BoundDoors = field(factory=BoundDoors)
    other_files: Sequence[OtherFile] = ()
    """What the scrubber looks at besides the logs and the journal."""
    metrics: Metrics = field(factory=Metrics)
    foundation: Foundation = field(init=False)
    _parts: Parts | None = field(default=None, init=False)
    _abandoned: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.foundation = Foundation.lay(self.world, self.data_dir, self.config.settings)

    @property
    def parts(self) -> Parts:
        """What it is made of, once it runs."""
        assert self._parts is not None, "a node has parts while it runs"
        return self._parts

    # -- life

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the length of the block."""
        clock = self.world.clock
        try:
            parts = self._parts = await self._compose()
            mark = self.directory.take_clean_mark()
            async with parts.operations.open(), parts.registry.open():
                began = clock.monotonic()
                try:
                    await self._open_logs(parts.node, mark)
                except BaseException:
                    if mark is not None:
                        # What it says of the logs must be so at the next start too.
                        self.directory.leave_clean_mark(mark.logs)
                    raise
                parts.operations.recovered(clock.monotonic() - began, clean=mark is not None)
                if not is_compiled:
                    logger.warning(
                        "records are checked in Python, a microsecond each: tools/compile.py has not been run"
                    )
                async with self._serving(parts):
                    yield
        finally:
            self.foundation.journal.close()

    async def _open_logs(self, node: Node, mark: CleanMark | None) -> None:
        under, clean, now_ms = self.foundation, mark is not None, self.world.clock.now_ms()
        with node.partitions.expecting(mark.logs if mark is not None else {}):
            # Stages first: coordinators go on where they were, and what they decided must reach what is staged.
            await in_worker(self.world.workers, partial(under.journal.open, now_ms, clean=clean))
            await node.controller.replicas.open_all(
                clean=clean,
                then=partial(node.releases.open_all, clean=clean),
                leads=node.services[Clustering].is_alone,
            )
        node.controller.replicas.later.when_none(partial(under.journal.start, under.rounds.settle))

    @asynccontextmanager
    async def _serving(self, parts: Parts) -> AsyncIterator[None]:
        clustering = parts.node.services[Clustering]
        try:
            async with trio.open_nursery() as nursery:
                with self.foundation.background.open(nursery):
                    await self._register(parts.node)
                    self._start_tasks(nursery, parts)
                    await clustering.start(nursery)
                    parts.operations.enter(Phase.READY)
                    yield
                    if not self._abandoned:
                        await parts.drain()
                        await clustering.membership.resign()
                nursery.cancel_scope.cancel()
        finally:
            parts.operations.enter(Phase.STOPPING)
            if not self._abandoned:
                with trio.CancelScope(shield=True):
                    await clustering.membership.leave()
                    await self._close_logs(parts)

    async def _register(self, node: Node) -> None:
        """Tell the cluster where this node's clients find it: only now are its ports known."""
        listeners = tuple(listener.told for listener in self.listeners)
        membership = node.services[Clustering].membership
        version = ""
        if not membership.is_alone:
            import importlib.metadata  # here: a node by itself need not wait for it

            version = importlib.metadata.version("tidegate")
        await membership.register(NodeRecord(node.identity.node_id, listeners, node.identity.rack, version=version))

    def abandon(self) -> None:
        """Close nothing when the block is left, as if the process had been killed: for simulations."""
        self._abandoned = True

    async def _compose(self) -> Parts:
        """Everything, from the foundation to the doors."""
        config, under, world = self.config, self.foundation, self.world
        told = evolve(config.settings, static=with_door(config.given, self.doors.http))
        self.descriptors.tell(config.settings)
        node = await compose_node(under, config, told, self.catalogue, self.descriptors)
        relieve_files(under, node.partitions, self.metrics)
        settings, workers = node.topics.settings, world.workers
        scrubbing = await Scrubbing.make(
            node.partitions, under.journal, self.other_files, workers, world.clock, settings
        )
        server = kafka_server(node, under.cork)
        bind_listeners(server.tenancy, config)
        limits = http_limits(settings, self.descriptors)
        operations = Operations.compose(node, self.metrics, scrubbing, server, self.listeners, self.doors.http, limits)
        cleaning = Cleaning.make(node.partitions, world.cleaner_workers, world.clock, settings, world.pause)
        grpc, text = self._grpc_door(node, operations), self._text_door(node)
        registry = RegistryDoor.compose(node, self.metrics, operations.life, self.doors.registry, self.descriptors)
        return Parts(node, server, operations, grpc, text, registry, cleaning, scrubbing)

    def _grpc_door(self, node: Node, operations: Operations) -> "GrpcDoorway | None":
        if self.doors.grpc is None:
            return None
        from tidegate.grpc_door import GrpcDoorway  # here: most brokers have none

        return GrpcDoorway.compose(node, self.metrics, operations.life, self.doors.grpc, self.descriptors)

    def _text_door(self, node: Node) -> "TextDoor | None":
        if self.doors.text is None:
            return None
        from tidegate.text_door import TextDoor  # here: most brokers have none

        return TextDoor.compose(node, self.doors.text, self.descriptors, self.metrics)

    def _start_tasks(self, nursery: trio.Nursery, parts: Parts) -> None:
        node, server, pulse = parts.node, parts.server, self.foundation.pulse
        node.partitions.storage.keep_reserve(node.topics.settings.integer("log.deletion.reserve.bytes"))
        nursery.start_soon(pulse.drive_syncs, self.foundation.rounds)
        nursery.start_soon(pulse.drive_timers)
        nursery.start_soon(self._expire_waiters, node)
        node.controller.replicas.open_later()
        nursery.start_soon(node.controller.replicas.follow)
        nursery.start_soon(node.controller.replicas.keep_watermarks)
        if not node.services[Clustering].is_alone:
            nursery.start_soon(node.producer_ids.keep, node.controller.replicas.in_catalogue)
        nursery.start_soon(node.services[Deletions].finish_all)
        node.services[DeadLetters].start()
        publish_audit(node.services)
        node.services[ShareDeadLetters].start()
        node.services[LetterSearch].start()
        nursery.start_soon(server.close_idle)
        nursery.start_soon(node.services[Entrances].watch)
        parts.cleaning.start(nursery)
        nursery.start_soon(parts.scrubbing.run)
        nursery.start_soon(self._sweep_orphans, node.services[Orphans])
        for number, listener in enumerate(self.listeners):
            listener.listen()
            nursery.start_soon(listener.serve, server, number)
        if parts.grpc is not None:
            nursery.start_soon(parts.grpc.serve)
        if parts.text is not None:
            nursery.start_soon(parts.text.serve)

    async def _close_logs(self, parts: Parts) -> None:
        """Sync and close every log; the mark is left only if all went well."""
        node = parts.node
        await parts.scrubbing.close()
        node.services[AccessControl].audit.close()
        node.services[Entrances].failed.flush()
        await close_tracing(node.tracing, self.world.workers)
        parts.cleaning.stop()
        await self._settle(parts)
        await node.releases.close()
        await self._settle(parts)
        await node.controller.replicas.note_watermarks()
        try:
            await in_worker(self.world.workers, lambda: node.partitions.close(clean=True))
            if node.controller.replicas.later.keys:
                raise StorageError("not all of them were opened, for lack of room on the disk")
            self.directory.leave_clean_mark(node.partitions.extents())
        except (BrokerError, OSError) as error:
            logger.error("a log could not be closed cleanly; the next start will recover: %s", error)

    async def _settle(self, parts: Parts) -> None:
        """Wait until nothing is written or synced any more."""
        rounds = self.foundation.rounds
        while not (rounds.idle() and parts.node.partitions.idle() and parts.cleaning.idle()):
            rounds.start_round()
            await trio.sleep(SETTLE_CHECK_S)

    # -- tasks

    async def _expire_waiters(self, node: Node) -> None:
        while True:
            await trio.sleep(WAITERS_CHECK_S)
            node.partitions.expire_waiters(self.world.clock.monotonic())

    async def _sweep_orphans(self, orphans: Orphans) -> None:
        while True:
            await orphans.look()
            await trio.sleep(INTERVAL_S)
