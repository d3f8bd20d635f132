"""Both coordinators on a disk in memory, with time and syncs that move when told."""

import random
from typing import Any

from attrs import define, evolve, field

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.group.groups import OFFSETS_TOPIC, Groups
from coordinators.group.requests import FetchedOffset, OffsetToCommit
from coordinators.internal_topics import InternalTopics
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from coordinators.transaction.markers import LocalMarkers
from coordinators.transaction.orphans import Orphans
from coordinators.transaction.transaction import ProducerIdentity, TopicPartition
from coordinators.transaction.transactions import STATE_TOPIC, Transactions
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import PartitionRecord
from engine.clock import ManualClock
from engine.config.resolve import BrokerSettings
from engine.deferred import Deferred
from engine.files.memory import MemoryFiles
from engine.log.aborted_index import AbortedTransaction
from engine.log.transactions import parse_marker
from engine.log.types import Receipt
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.records.layout import TRANSACTIONAL_FLAG, build_batch, record_section, split_batches, walk_records
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.coordinators.committing import commit_and_apply
from tests.engine.logs import memory_files
from tests.engine.partition.making import create
from tidegate.config_keys import BROKER_KEYS

SETTINGS = {"transaction.state.log.num.partitions": "2", "offsets.topic.num.partitions": "2"}
PENDING = "pending"
THIS_NODE = 1


@define(eq=False, slots=False)
class World:
    """One node. `hold` keeps what is written from becoming durable."""

    files: MemoryFiles = field(factory=memory_files)
    catalogue: Catalogue = field(factory=MemoryCatalogue)
    clock: ManualClock = field(factory=ManualClock)
    hold: bool = False
    settings: dict[str, str] = field(factory=dict)
    rows: dict[TopicPartition, PartitionRecord] = field(factory=dict)
    """Of partitions whose leader has changed."""

    def __attrs_post_init__(self) -> None:
        self.start()
        self.create(OFFSETS_TOPIC, 2, {"cleanup.policy": "compact"})
        self.create(STATE_TOPIC, 2, {"cleanup.policy": "compact"})
        self.settle()

    # -- life

    def start(self) -> None:
        """Everything from what is on disk."""
        self.timers = Timers()
        self.disk = InlineWorkers(hold=True)
        self.workers = InlineWorkers()
        self.rounds = SyncRounds(self.disk, lambda: None)
        values = {name: BROKER_KEYS[name].coerce(value) for name, value in {**SETTINGS, **self.settings}.items()}
        settings = BrokerSettings(values, keys=BROKER_KEYS)
        self.topics = Topics.load(self.catalogue, settings, 1, lambda size: random.randbytes(size))
        self.partitions = Partitions(
            "/data", self.files, self.clock, self.workers, self.rounds, lambda *_: None, lambda _: None
        )
        self.replicas = ReplicaManager(self.catalogue, self.topics, self.partitions, self.workers)
        self.controller = ClusterController(self.replicas)
        internal = InternalTopics(self.controller)
        settings = self.topics.settings
        self.groups = Groups.compose(internal, settings, self.clock, self.timers, self.workers, random.randbytes)
        self.producer_ids = ProducerIds(self.catalogue)
        self.producer_ids.add(self.producer_ids.reserve())
        self.markers = LocalMarkers(PartitionDirectory(self.topics, self.partitions), self.clock)
        self.transactions = Transactions(
            internal, self.producer_ids, self.markers, settings, self.clock, self.timers, self.workers
        )
        for topic in self.topics.view:
            for spec in self.replicas.specs(topic):
                self.partitions.add(spec, self.partitions.open_log(spec, clean=False))
        for place, row in self.rows.items():
            self.partition(place).assume(row)
        for topic in self.topics.view:
            self._lead(topic)
        Orphans(self.transactions).sweep()

    def crash(self, chance: random.Random | None = None) -> None:
        """Power loss, and a new start."""
        self.files.crash(chance)
        self.start()

    def create(self, name: str, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        plan = self.topics.plan_create([TopicSpec(name, partitions, configs=dict(configs or {}))])
        for update in commit_and_apply(self.catalogue, self.topics, plan.commit):
            assert update.after is not None
            create(self.partitions, self.replicas.specs(update.after))
            for follow in self.replicas.on_change:
                follow(update)
            self._lead(update.after)

    def _lead(self, topic: Topic) -> None:
        for partition in self.partitions.of_topic(topic.topic_id):
            for follow in self.replicas.on_leading:
                follow(topic, partition)

    def settle(self) -> None:
        """Let syncs and timers that are due happen, until nothing does."""
        while not self.hold:
            self.rounds.start_round()
            if not self.disk.run_held() and not self.timers.run_due(self.clock.monotonic()):
                return

    def advance(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        self.settle()
        if self.hold:
            self.timers.run_due(self.clock.monotonic())

    # -- leaders

    def lead(self, place: TopicPartition, leader: int = THIS_NODE) -> None:
        """A partition gets a new leader; a shard that is led here is loaded, from this epoch on."""
        partition = self.partition(place)
        row = evolve(partition.replicas.row, leader=leader, leader_epoch=partition.leader_epoch + 1)
        self.rows[place] = row
        if leader == THIS_NODE:
            partition.log.begin_epoch(row.leader_epoch)
        partition.assume(row)
        if place[0] == STATE_TOPIC:
            runtime = self.transactions.runtime
            if leader == THIS_NODE:
                runtime.load(place[1], partition, row.leader_epoch)
            else:
                runtime.unload(place[1], row.leader_epoch)
        self.settle()

    # -- producers

    def heard(self, answer: Deferred[Any]) -> Any:
        """The answer, or PENDING."""
        self.settle()
        found: list[Any] = []
        answer.when_settled(found.append, found.append)
        return found[0] if found else PENDING

    def init(self, name: str, timeout_ms: int = 60_000, expected: ProducerIdentity | None = None) -> Any:
        return self.heard(self.transactions.init_producer_id(name, timeout_ms, expected))

    def add(self, name: str, producer: ProducerIdentity, *places: TopicPartition, version: int = 0) -> Any:
        return self.heard(self.transactions.add_partitions(name, producer, places, version))

    def end(self, name: str, producer: ProducerIdentity, *, commit: bool, version: int = 0) -> Any:
        return self.heard(self.transactions.end(name, producer, commit=commit, version=version))

    def write(self, name: str, producer: ProducerIdentity, place: TopicPartition, value: str, sequence: int) -> Receipt:
        """A transactional batch of one record, verified as Produce does it."""
        partition = self.partition(place)
        if not partition.log.has_open_transaction(producer.producer_id, producer.epoch):
            refusal = self.transactions.verify(name, producer, place).refusal
            if refusal is not None:
                raise refusal
        batch = build_batch(
            [(b"k", value.encode())],
            timestamp_ms=self.clock.now_ms(),
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL_FLAG,
        )
        result = partition.write(batch)
        self.settle()
        return result

    def commit_offset(self, group: str, producer: ProducerIdentity, place: TopicPartition, offset: int) -> Any:
        offsets = [OffsetToCommit(*place, offset)]
        return self.heard(
            self.groups.commit_transactional(group, "", -1, producer.producer_id, producer.epoch, offsets)
        )

    def fetch_offset(self, group: str, place: TopicPartition, *, stable: bool = True) -> FetchedOffset:
        (found,) = self.heard(self.groups.fetch_offsets(group, [place], require_stable=stable))
        assert isinstance(found, FetchedOffset)
        return found

    # -- readers

    def partition(self, place: TopicPartition) -> Partition:
        found = self.partitions.get(self.topics.by_name[place[0]].topic_id, place[1])
        assert found is not None
        return found

    def read(self, place: TopicPartition, *, committed: bool = False) -> list[str]:
        """The values that a consumer would see; markers as <commit> and <abort> to who reads everything."""
        partition, offset, values = self.partition(place), 0, []
        while True:
            found = partition.read(offset, 2**30, at_least_one=True, committed=committed)
            if found.log_read is None or not found.log_read.size:
                return values
            data = b"".join(region.read() for region in found.log_read.regions)
            values += self._seen(data, list(found.aborted or ()), committed=committed)
            offset = split_batches(data)[-1][0].next_offset

    def _seen(self, data: bytes, aborted: list[AbortedTransaction], *, committed: bool) -> list[str]:
        """What a consumer makes of one answer to its Fetch."""
        hidden: set[int] = set()
        values: list[str] = []
        for header, batch in split_batches(data):
            for one in [one for one in aborted if one.first_offset <= header.last_offset]:
                hidden.add(one.producer_id)
                aborted.remove(one)
            if header.is_control:
                marker = parse_marker(header, batch[61:])
                assert marker is not None
                if not marker.committed:
                    hidden.discard(header.producer_id)
                if not committed:
                    values.append("<commit>" if marker.committed else "<abort>")
            elif header.producer_id not in hidden:
                records = walk_records(record_section(header, batch), header.record_count)
                values += (bytes(record.value or b"").decode() for record in records)
        return values

    def hard_state(self) -> list[dict[str, Any]]:
        return [dict(machine.transactions) for machine in self.transactions.runtime.machines()]
