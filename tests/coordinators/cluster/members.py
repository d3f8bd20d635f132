"""Nodes that are members of a cluster: each registers, follows the catalogue and may be the controller. Time is trio's,
and jumps."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import trio
from attrs import define, evolve, field

from coordinators.background import Background
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.controlling import ControllerRole
from coordinators.cluster.leader_elections import LeaderElections
from coordinators.cluster.membership import ClusterMembership
from coordinators.cluster.nodes import Nodes
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.cluster.rows import partition_key
from coordinators.topics import Topics
from engine.catalogue.catalogue import Catalogue, Commit, Put
from engine.catalogue.records import NODES, TOPICS, NodeRecord, PartitionRecord, TopicRecord
from engine.config.resolve import BrokerSettings
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.coordinators.cluster.sessions import CatalogueDoor, SharedCatalogue
from tests.coordinators.trio_clock import TrioClock
from tests.engine.logs import memory_files
from tidegate.config_keys import BROKER_KEYS

TOPIC_ID = bytes(range(16))


@define(eq=False)
class Member:
    """One node, in one process after the other."""

    node_id: int
    shared: SharedCatalogue
    settings: BrokerSettings = field(factory=lambda: BrokerSettings(keys=BROKER_KEYS))
    unreachable: dict[int, OSError] = field(factory=dict)
    """Which nodes cannot be reached, and why."""
    events: list[str] = field(factory=list)
    catalogue: CatalogueDoor = field(init=False)
    replicas: ReplicaManager = field(init=False)
    membership: ClusterMembership = field(init=False)
    elections: LeaderElections = field(init=False)
    role: ControllerRole = field(init=False)
    _process: trio.CancelScope | None = field(default=None, init=False)

    def compose(self) -> None:
        """A new process."""
        self.catalogue = self.shared.door()
        self.replicas = replica_manager(self.catalogue, self.node_id, self.settings)
        workers = InlineWorkers()
        self.elections = LeaderElections(self.replicas, workers)
        controller = ClusterController(self.replicas)
        self.membership = ClusterMembership(controller, self.elections, workers, os.urandom)
        self.membership.on_fenced.append(self._fenced)
        self.membership.on_unfenced.append(self._unfenced)
        self.role = ControllerRole(self.membership, self.elections, self._reach)

    @property
    def record(self) -> NodeRecord:
        return NodeRecord(self.node_id, (f"PLAINTEXT://node{self.node_id}:9092",))

    async def start(self, nursery: trio.Nursery) -> None:
        """Until it has entered the cluster."""
        self.compose()
        await nursery.start(self._live)

    async def _live(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope() as self._process:
            await self.replicas.open_all(clean=False, leads=False)
            await self.membership.register(self.record)
            async with trio.open_nursery() as nursery:
                with self.replicas.background.open(nursery):
                    nursery.start_soon(self.replicas.follow)
                    nursery.start_soon(self.role.run)
                    await nursery.start(self.membership.run)
                    task_status.started()
                    await trio.sleep_forever()

    def kill(self) -> None:
        """The process ends without a word; its session is still there."""
        assert self._process is not None
        # A task that is about to run may still do so: nobody hears of it any more.
        self.catalogue.cut_off = True
        self._process.cancel()

    async def stop(self) -> None:
        """In good order."""
        await self.membership.resign()
        self.kill()

    async def _fenced(self) -> None:
        self.events.append("fenced")

    async def _unfenced(self) -> None:
        self.events.append("unfenced")

    async def _reach(self, node: NodeRecord) -> None:
        await trio.lowlevel.checkpoint()
        if node.node_id in self.unreachable:
            raise self.unreachable[node.node_id]


def replica_manager(catalogue: Catalogue, node_id: int, settings: BrokerSettings) -> ReplicaManager:
    workers, rounds = InlineWorkers(), SyncRounds(InlineWorkers(), lambda: None)
    topics = Topics.load(catalogue, settings, node_id, os.urandom)
    partitions = Partitions("/data", memory_files(), TrioClock(), workers, rounds, lambda *_: None)
    return ReplicaManager(catalogue, topics, partitions, workers, Background(), Nodes.load(catalogue))


@define(eq=False)
class Cluster:
    """Members over one catalogue."""

    nursery: trio.Nursery
    shared: SharedCatalogue = field(factory=SharedCatalogue)
    members: dict[int, Member] = field(factory=dict)

    def put_topic(
        self, rows: Sequence[PartitionRecord], topic_id: bytes = TOPIC_ID, name: str = "", **configs: str
    ) -> None:
        """A topic whose partitions have these rows."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        topic = TopicRecord(name or f"t{topic_id[0]}", topic_id, len(rows), named)
        puts = [Put(topic.partition_key(index), row.encode()) for index, row in enumerate(rows)]
        self.shared.memory.commit(Commit((), (Put(topic.key, topic.encode()), *puts)))

    def put_config(self, topic_id: bytes = TOPIC_ID, **configs: str) -> None:
        """Other configs of a topic."""
        entry = self.shared.memory.get(f"{TOPICS}t{topic_id[0]}")
        assert entry is not None
        named = {key.replace("_", "."): value for key, value in configs.items()}
        topic = evolve(TopicRecord.decode(entry.value), configs=named)
        self.shared.memory.commit(Commit((), (Put(topic.key, topic.encode()),)))

    def put_row(self, index: int = 0, **changed: object) -> None:
        """As the partition's leader would change it."""
        row = self.row(index)
        after = evolve(row, partition_epoch=row.partition_epoch + 1, **changed)
        self.shared.memory.commit(Commit((), (Put(partition_key(TOPIC_ID, index), after.encode()),)))

    def row(self, index: int = 0) -> PartitionRecord:
        entry = self.shared.memory.get(partition_key(TOPIC_ID, index))
        assert entry is not None
        return PartitionRecord.decode(entry.value)

    def node(self, node_id: int) -> NodeRecord | None:
        entry = self.shared.memory.get(f"{NODES}{node_id}")
        return None if entry is None else NodeRecord.decode(entry.value)

    async def start(self, *node_ids: int, settings: BrokerSettings | None = None) -> list[Member]:
        """Each after the one before has entered."""
        for node_id in node_ids:
            member = self.members.setdefault(node_id, Member(node_id, self.shared))
            if settings is not None:
                member.settings = settings
            await member.start(self.nursery)
        return [self.members[node_id] for node_id in node_ids]

    def crash(self, node_id: int) -> None:
        """A process ends, and then its session."""
        self.members[node_id].kill()
        self.members[node_id].catalogue.end_session()

    @property
    def controllers(self) -> list[int]:
        return [member.node_id for member in self.members.values() if member.role.is_controller]

    async def until(self, holds: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Raises `trio.TooSlowError` if it does not come to that."""
        with trio.fail_after(timeout_s):
            while not holds():  # noqa: ASYNC110
                await trio.sleep(0.01)


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """For the length of the block."""
    async with trio.open_nursery() as nursery:
        yield Cluster(nursery)
        nursery.cancel_scope.cancel()
