"""Several nodes that replicate one topic over one catalogue, each with its own disk in memory. Links call the other
node's `Followers` directly. Time is trio's, and jumps. The tests say who is elected."""

import os
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace

import trio
from attrs import define, evolve, field

from coordinators.background import Background
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.nodes import Nodes
from coordinators.cluster.repairs import Repairs
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.cluster.rows import partition_key
from coordinators.release.releases import Releases
from coordinators.replication.fetching import FetchLimits
from coordinators.replication.ports import (
    LinkBroken,
    Replica,
    ReplicaAnswer,
    ReplicaFetch,
    SnapshotPiece,
)
from coordinators.topics import Topics
from coordinators.waiting import result_of
from engine.catalogue.catalogue import Commit, Delete, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import NODES, NodeRecord, PartitionRecord, TopicRecord
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.errors import BrokerError
from engine.files.memory import MemoryFiles
from engine.log.log import Log
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.records.batch import Batch, whole
from engine.records.layout import split_batches
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.coordinators.cluster.sessions import CatalogueDoor, SharedCatalogue
from tests.coordinators.trio_clock import TrioClock
from tests.engine.logs import batch, idempotent, memory_files
from tests.engine.stage.world import client_batch, opened, record
from tidegate.config_keys import BROKER_KEYS
from tidegate.replication import Replication

TOPIC_ID = bytes(range(16))
LOG, STAGE = Replica(TOPIC_ID, 0), Replica(TOPIC_ID, 0, is_stage=True)
LAG_S = 3.0


@define(eq=False)
class DirectLink:
    """From a follower to a leader of this process."""

    source: "ReplicaNode"
    target: "ReplicaNode"
    is_broken: bool = False

    async def fetch(self, fetch: ReplicaFetch) -> ReplicaAnswer:
        self._check()
        self.source.fetches.append(fetch)
        followers = self.target.replication.followers
        answer = followers.serve(fetch)
        if isinstance(answer, Deferred):
            waiting, answer = answer, None
            # Of a node that has gone meanwhile nothing comes.
            with trio.move_on_after(fetch.wait_ms / 1000 + 1):
                answer = await result_of(waiting)
            if answer is None:
                raise LinkBroken("no answer")
        else:
            await trio.lowlevel.checkpoint()
        self._check()
        for given in answer.given:
            if not isinstance(given.records, bytes):
                given.records = b"".join(region.read() for region in given.records)
        return answer

    async def snapshot(self, replica: Replica, leader_epoch: int, offset: int, position: int) -> SnapshotPiece:
        self._check()
        piece = self.target.replication.followers.snapshot(replica, leader_epoch, offset, position)
        await trio.lowlevel.checkpoint()
        return await result_of(piece) if isinstance(piece, Deferred) else piece

    async def aclose(self) -> None:
        self.is_broken = True

    def _check(self) -> None:
        pair = {self.source.node_id, self.target.node_id}
        if self.is_broken or not self.target.is_up or pair in self.source.world.cuts:
            raise LinkBroken("there is no way to that node")


@define(eq=False)
class ReplicaNode:
    """One node, in one process after the other."""

    node_id: int
    world: "ReplicationWorld"
    files: MemoryFiles = field(factory=memory_files)
    epoch: int = 0
    is_up: bool = False
    lives: int = 0
    fetches: list[ReplicaFetch] = field(factory=list)
    suspected: list[int] = field(factory=list)
    door: CatalogueDoor = field(init=False)
    timers: Timers = field(init=False)
    workers: InlineWorkers = field(init=False)
    sync_workers: InlineWorkers = field(init=False)
    rounds: SyncRounds = field(init=False)
    partitions: Partitions = field(init=False)
    replicas: ReplicaManager = field(init=False)
    releases: Releases = field(init=False)
    replication: Replication = field(init=False)
    _process: trio.CancelScope | None = field(default=None, init=False)

    def compose(self) -> None:
        """A new process."""
        world, clock = self.world, TrioClock()
        self.door = world.shared.door()
        self.timers, self.workers, self.sync_workers = Timers(), InlineWorkers(), InlineWorkers()

        def call_later(delay_s: float, callback: Callable[[], object]) -> None:
            self.timers.call_at(clock.monotonic() + delay_s, callback)

        self.rounds = SyncRounds(self.sync_workers, lambda: call_later(0.0, self._start_round))
        values = {"replica.lag.time.max.ms": int(1000 * LAG_S), "stage.reserve.bytes": 0}
        settings = BrokerSettings(values, keys=BROKER_KEYS)
        topics = Topics.load(self.door, settings, self.node_id, os.urandom)
        self.partitions = Partitions("/data", self.files, clock, self.workers, self.rounds, call_later)
        nodes = Nodes.load(self.door)
        self.replicas = ReplicaManager(self.door, topics, self.partitions, self.workers, Background(), nodes)
        controller = ClusterController(self.replicas)
        self.releases = Releases.compose(controller, clock, self.timers)
        surroundings = SimpleNamespace(
            clock=clock, files=self.files, workers=self.workers, catalogue_workers=InlineWorkers()
        )
        self.replicas.on_damaged_stage.append(Repairs(self.replicas).begin_stage_anew)
        clustering = SimpleNamespace(membership=self, role=SimpleNamespace(suspect=self.suspected.append))
        self.replication = Replication.compose(surroundings, controller, self.releases, self.timers, self, clustering)
        limits = self.replication.fetching.services.limits
        assert isinstance(limits, FetchLimits)

    def _start_round(self) -> None:
        if not self.sync_workers.hold:
            self.rounds.start_round()

    def sync(self) -> None:
        """What was held back of syncs is done."""
        self.sync_workers.hold = False
        self.rounds.start_round()
        self.sync_workers.run_held()

    async def connect(self, node: NodeRecord) -> DirectLink:
        await trio.lowlevel.checkpoint()
        link = DirectLink(self, self.world.nodes[node.node_id])
        link._check()
        return link

    async def start(self) -> None:
        """Recover, register, lead what newer rows say."""
        self.world.register(self)
        self.compose()
        await self.world.nursery.start(self._live)

    async def _live(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope() as self._process:
            open_stages = self.releases.open_all
            await self.replicas.open_all(clean=False, then=lambda: open_stages(clean=False), leads=False)
            async with trio.open_nursery() as nursery:
                with self.replicas.background.open(nursery):
                    nursery.start_soon(self._run_timers)
                    nursery.start_soon(self.replicas.follow)
                    self.replication.start(nursery)
                    self.is_up = True
                    task_status.started()
                    await trio.sleep_forever()

    async def _run_timers(self) -> None:
        while True:
            earlier = trio.Event()
            self.timers.on_earlier = earlier.set
            self.timers.run_due(trio.current_time())
            deadline = self.timers.next_deadline()
            with trio.move_on_at(float("inf") if deadline is None else deadline):
                await earlier.wait()
            await trio.lowlevel.checkpoint()

    def crash(self, chance: random.Random | None = None) -> None:
        """The machine loses its power; the others see that the node has gone."""
        self.kill()
        self.files.crash(chance)

    def kill(self) -> None:
        assert self._process is not None
        self._process.cancel()
        self.is_up = False
        self.world.forget(self)

    # -- what it holds

    @property
    def partition(self) -> Partition:
        found = self.partitions.get(TOPIC_ID, 0)
        assert found is not None
        return found

    @property
    def log(self) -> Log:
        return self.partition.log

    @property
    def stage_log(self) -> Log:
        assert self.partition.stage_log is not None
        return self.partition.stage_log.log

    @property
    def high_watermark(self) -> int:
        return self.partition.high_watermark.offset

    @property
    def end(self) -> int:
        return self.log.end_offset

    def bytes_of(self, *, stage: bool = False) -> list[tuple[int, bytes]]:
        """Its segments and what they hold."""
        log = self.stage_log if stage else self.log
        return [(each.base_offset, each.file().pread(each.size, 0)) for each in log.segments if each.size]

    # -- what clients do

    def append(self, data: Batch | bytes | None = None) -> list[BrokerError | None]:
        """A batch with acks=all; the outcome comes in what is returned."""
        found: list[BrokerError | None] = []
        receipt = self.partition.write(whole(data) if isinstance(data, bytes) else data or whole(batch()))
        self.partition.when_durable(receipt, trio.current_time() + 1000, found.append)
        return found

    def produce(self, sequence: int, producer_id: int = 7) -> list[BrokerError | None]:
        return self.append(idempotent(sequence, producer_id=producer_id))

    def hold(self, *values: str, delay_ms: int = 3_600_000, **sender: int) -> list[BrokerError | None]:
        """Records that wait in the stage, with acks=all."""
        topic = self.replicas.topics.by_id[TOPIC_ID]
        staging = self.releases.stage_of(self.partition, topic)
        data = client_batch([record(value, delay=delay_ms) for value in values], **sender)
        one = whole(data)
        one.asked = opened(data, staging.stage.config, TrioClock().now_ms())
        one.hold = True
        found: list[BrokerError | None] = []
        receipt = self.partition.append(one, deadline=trio.current_time() + 1000)
        self.partition.when_durable(receipt, trio.current_time() + 1000, found.append)
        return found


@define(eq=False)
class ReplicationWorld:
    """Nodes over one catalogue."""

    nursery: trio.Nursery
    shared: SharedCatalogue = field(factory=SharedCatalogue)
    nodes: dict[int, ReplicaNode] = field(factory=dict)
    cuts: list[set[int]] = field(factory=list)
    """Pairs of nodes that cannot reach each other."""

    @property
    def memory(self) -> MemoryCatalogue:
        return self.shared.memory

    def put_topic(self, row: PartitionRecord, **configs: str) -> None:
        named = {key.replace("_", "."): value for key, value in configs.items()}
        topic = TopicRecord("t", TOPIC_ID, 1, named)
        puts = Put(topic.key, topic.encode()), Put(partition_key(TOPIC_ID, 0), row.encode())
        self.memory.commit(Commit((), puts))

    def register(self, node: ReplicaNode, **changed: object) -> None:
        """A new life of the node."""
        node.lives += 1
        node.epoch = self.memory.revision() + 1
        self.put_node(node, incarnation=f"{node.lives}", **changed)

    def put_node(self, node: ReplicaNode, **changed: object) -> None:
        record = NodeRecord(node.node_id, (f"PLAINTEXT://n{node.node_id}:9092",), epoch=node.epoch, **changed)
        self.memory.commit(Commit((), (Put(record.key, record.encode()),)))

    def forget(self, node: ReplicaNode) -> None:
        self.memory.commit(Commit((), (Delete(f"{NODES}{node.node_id}"),)))

    @property
    def row(self) -> PartitionRecord:
        entry = self.memory.get(partition_key(TOPIC_ID, 0))
        assert entry is not None
        return PartitionRecord.decode(entry.value)

    def change_row(self, **changed: object) -> PartitionRecord:
        before = self.row
        row = evolve(before, partition_epoch=before.partition_epoch + 1, **changed)
        self.put_row(row)
        return row

    def put_row(self, row: PartitionRecord) -> None:
        self.memory.commit(Commit((), (Put(partition_key(TOPIC_ID, 0), row.encode()),)))

    async def elect(self, leader: int, isr: Sequence[int] | None = None) -> None:
        """And wait until it leads, if it is there."""
        row = self.change_row(leader=leader, leader_epoch=self.row.leader_epoch + 1, isr=tuple(isr or self.row.isr))
        if leader in self.nodes and self.nodes[leader].is_up:
            node = self.nodes[leader]
            await self.until(lambda: node.partition.replicas.leads and node.partition.leader_epoch == row.leader_epoch)

    async def start(self, *node_ids: int) -> list[ReplicaNode]:
        for node_id in node_ids:
            await self.nodes.setdefault(node_id, ReplicaNode(node_id, self)).start()
        return [self.nodes[node_id] for node_id in node_ids]

    async def until(self, holds: Callable[[], object], timeout_s: float = 60.0) -> None:
        """Raises `trio.TooSlowError` if it does not come to that."""
        with trio.fail_after(timeout_s):
            while not holds():  # noqa: ASYNC110
                await trio.sleep(0.01)

    async def until_alike(self, *nodes: ReplicaNode, stage: bool = False) -> None:
        """Until all have the same bytes."""

        def alike() -> bool:
            first, *others = [_content(node, stage=stage) for node in nodes]
            return all(other == first for other in others)

        await self.until(alike)


def _content(node: ReplicaNode, *, stage: bool) -> object:
    if stage:
        return None if node.partition.stage_log is None else node.bytes_of(stage=True)
    return b"".join(data for _, data in node.bytes_of()), node.end


def values(log: Log) -> list[bytes]:
    """The batches of a log, byte by byte."""
    data = b"".join(each.file().pread(each.size, 0) for each in log.segments)
    return [bytes(view) for _, view in split_batches(data)]


@asynccontextmanager
async def replication(
    *node_ids: int, isr: Sequence[int] | None = None, replicas: Sequence[int] = (1, 2, 3), **configs: str
) -> AsyncIterator[ReplicationWorld]:
    """A topic of one partition that the first of its replicas leads, and these nodes."""
    async with trio.open_nursery() as nursery:
        world = ReplicationWorld(nursery)
        members = tuple(node_ids if isr is None else isr)
        world.put_topic(PartitionRecord(tuple(replicas), members, -1), **configs)
        await world.start(*node_ids)
        if node_ids:
            await world.elect(node_ids[0])
        yield world
        nursery.cancel_scope.cancel()
