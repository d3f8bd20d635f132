"""Several nodes over one catalogue, each with its own disk in memory; each follows when told."""

import os

from attrs import define, evolve, field

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.deletions import Deletions
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.catalogue.catalogue import Catalogue, Commit, Put
from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from engine.config.resolve import BrokerSettings
from engine.files.memory import MemoryFiles
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.coordinators.background import HeldBackground
from tests.engine.logs import batch, memory_files
from tidegate.config_keys import BROKER_KEYS


@define(eq=False)
class ClusterNode:
    """A node's part in the cluster, without doors."""

    node_id: int
    catalogue: Catalogue
    files: MemoryFiles = field(factory=memory_files)
    heard: list[tuple[str, str, int]] = field(factory=list)
    background: HeldBackground = field(init=False)
    partitions: Partitions = field(init=False)
    replicas: ReplicaManager = field(init=False)
    controller: ClusterController = field(init=False)
    rounds: SyncRounds = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """From the catalogue and the disk; `open_all` is left to the caller."""
        workers, self.background = InlineWorkers(), HeldBackground()
        self.rounds = SyncRounds(InlineWorkers(), lambda: None)
        topics = Topics.load(self.catalogue, BrokerSettings(keys=BROKER_KEYS), self.node_id, os.urandom)
        self.partitions = Partitions("/data", self.files, ManualClock(), workers, self.rounds, lambda *_: None)
        self.replicas = ReplicaManager(self.catalogue, topics, self.partitions, workers, self.background)
        self.controller = ClusterController(self.replicas)
        Deletions(self.controller)
        self.heard = []
        self.replicas.on_leading.append(lambda topic, each: self.heard.append(("leads", topic.name, each.index)))
        self.replicas.on_resigned.append(lambda topic, index, _: self.heard.append(("resigned", topic.name, index)))

    async def create(self, name: str, partitions: int = 1) -> Topic:
        (topic,) = await self.controller.create_topics([TopicSpec(name, partitions)])
        assert isinstance(topic, Topic), topic
        return topic

    def partition(self, topic: Topic, index: int = 0) -> Partition:
        found = self.partitions.get(topic.topic_id, index)
        assert found is not None
        return found

    def write(self, topic: Topic, index: int = 0) -> None:
        self.partition(topic, index).write(batch())
        self.rounds.start_round()


def place(catalogue: Catalogue, topic: Topic, index: int, **changed: object) -> PartitionRecord:
    """Commit a partition's row with something else in it, as a controller elsewhere would."""
    key = topic.record.partition_key(index)
    entry = catalogue.get(key)
    assert entry is not None
    before = PartitionRecord.decode(entry.value)
    epochs = before.leader_epoch + ("leader" in changed), before.partition_epoch + 1
    row = evolve(before, leader_epoch=epochs[0], partition_epoch=epochs[1], **changed)
    catalogue.commit(Commit((), (Put(key, row.encode()),)))
    return row
