"""All stages of a node: made when needed, opened again, kept small, gone with their topic."""

import errno
import math
import os

import pytest
import trio
from attrs import define, field
from trio.testing import trio_test

from coordinators.cluster.controller import ClusterController
from coordinators.cluster.deletions import Deletions
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from coordinators.release.releases import Releases
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from engine.clock import ManualClock
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError, PolicyViolation
from engine.files.memory import MemoryFiles
from engine.log.types import Receipt
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions
from engine.partition.staging import Staging
from engine.partition.sync import SyncRounds
from engine.records.batch import whole
from engine.stage import opening
from engine.stage.headers import open_records
from engine.timers import Timers
from engine.workers import InlineWorkers
from tests.coordinators.background import HeldBackground
from tests.coordinators.conftest import Desk
from tests.engine.logs import NOW_MS, memory_files
from tests.engine.stage.world import Record, client_batch, record
from tidegate.config_keys import BROKER_KEYS


@define(eq=False)
class Bench:
    """Releases over a catalogue and a disk in memory; syncs happen at once."""

    desk: Desk
    files: MemoryFiles = field(factory=memory_files)
    clock: ManualClock = field(factory=lambda: ManualClock(NOW_MS))
    timers: Timers = field(init=False)
    background: HeldBackground = field(init=False)
    controller: ClusterController = field(init=False)
    deletions: Deletions = field(init=False)
    releases: Releases = field(init=False)
    rounds: SyncRounds = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.timers, workers = Timers(), InlineWorkers()
        self.rounds = SyncRounds(workers, lambda: None)
        topics = self.desk.restart()
        partitions = Partitions("/data", self.files, self.clock, workers, self.rounds, lambda *_: None)
        self.background = HeldBackground()
        replicas = ReplicaManager(self.desk.catalogue, topics, partitions, workers, self.background)
        self.controller = ClusterController(replicas)
        self.deletions = Deletions(self.controller)
        self.releases = Releases.compose(self.controller, self.clock, self.timers)

    async def create(self, name: str = "t", partitions: int = 1, **configs: str) -> Topic:
        spec = TopicSpec(name, partitions, configs={key.replace("_", "."): value for key, value in configs.items()})
        (topic,) = await self.controller.create_topics([spec])
        assert isinstance(topic, Topic), topic
        return topic

    def partition(self, topic: Topic, index: int = 0) -> Partition:
        found = self.controller.partitions.get(topic.topic_id, index)
        assert found is not None
        return found

    def hold(self, topic: Topic, *records: Record, index: int = 0) -> Receipt | BrokerError:
        batch, rules = whole(client_batch(records)), self.releases.config(topic).header_rules
        batch.asked, batch.hold = open_records(batch.section(), len(records), rules, self.clock.now_ms()), True
        partition = self.partition(topic, index)
        self.releases.stage_of(partition, topic)
        try:
            receipt = partition.append(batch, deadline=math.inf)
        except BrokerError as error:
            return error
        self.sync()
        assert isinstance(receipt, Receipt)
        return receipt

    def sync(self) -> None:
        for _ in range(5):
            self.rounds.start_round()

    def pass_ms(self, duration_ms: int) -> None:
        self.clock.advance_ms(duration_ms)
        for _ in range(10):
            self.timers.run_due(self.clock.monotonic())
            self.sync()

    def staged(self, topic: Topic, index: int = 0) -> Staging:
        staging = self.partition(topic, index).staging
        assert staging is not None
        return staging


@pytest.fixture
def bench(desk: Desk) -> Bench:
    return Bench(desk)


@trio_test
async def test_a_new_stage_is_made_without_a_look_at_the_disk(desk: Desk) -> None:
    bench = Bench(desk)
    topic = await bench.create(partitions=2)
    bench.releases.stage_of(bench.partition(topic), topic)  # with the first one room is kept free, in a thread
    before = bench.files.calls
    bench.releases.stage_of(bench.partition(topic, 1), topic)
    assert bench.files.calls == before


@trio_test
async def test_a_partition_gets_a_stage_with_the_first_record_that_needs_one(bench: Bench) -> None:
    topic = await bench.create(partitions=2)
    assert not bench.partition(topic).has_stage
    bench.hold(topic, record("later", delay=1_000))
    assert bench.partition(topic).has_stage
    assert not bench.partition(topic, 1).has_stage
    assert bench.files.list(bench.controller.partitions.directory(topic.topic_id, 0) + "/stage")


@trio_test
async def test_a_new_stage_asks_nothing_of_the_disk(bench: Bench) -> None:
    topic = await bench.create()
    bench.releases.reserve.size = 0
    bench.files.fail_at(1, errno.EIO, times=1_000)
    bench.releases.stage_of(bench.partition(topic), topic)
    bench.files.stop_failing()
    receipt = bench.hold(topic, record("later", delay=1_000))
    assert isinstance(receipt, Receipt)
    assert receipt.is_staged


@trio_test
async def test_a_restart_finds_what_waits(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("later", delay=1_000))
    bench.restart()
    await bench.controller.replicas.open_all(clean=False)
    await bench.releases.open_all(clean=False)
    bench.pass_ms(999)
    assert bench.partition(topic).log.end_offset == 0
    bench.pass_ms(1)
    assert bench.partition(topic).log.end_offset == 1


@trio_test
async def test_closing_leaves_a_checkpoint_so_that_nothing_is_replayed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await bench.create()
    bench.hold(topic, *(record(str(number), delay=1_000 + number) for number in range(20)))
    await bench.releases.close()
    bench.restart()
    await bench.controller.replicas.open_all(clean=False)
    monkeypatch.setattr(opening.StageState, "replay", lambda *_: pytest.fail("replayed"))
    await bench.releases.open_all(clean=False)
    assert len(bench.staged(topic).stage.state.table) == 20


@trio_test
async def test_a_topic_has_room_for_so_many_bytes_over_all_its_partitions(bench: Bench) -> None:
    topic = await bench.create(partitions=2, stage_max_bytes="300")
    assert not isinstance(bench.hold(topic, record("x" * 150, delay=100)), PolicyViolation)
    assert isinstance(bench.hold(topic, record("x" * 150, delay=100), index=1), PolicyViolation)
    bench.pass_ms(100)
    assert not isinstance(bench.hold(topic, record("x" * 150, delay=100), index=1), PolicyViolation)


@trio_test
async def test_all_topics_together_have_room_for_so_many_entries(bench: Bench) -> None:
    bench.controller.topics.settings = BrokerSettings({"stage.max.entries": 3}, keys=BROKER_KEYS)
    topic, other = await bench.create(), await bench.create("other")
    assert not isinstance(bench.hold(topic, record("a", delay=100), record("b", delay=5_000)), PolicyViolation)
    assert not isinstance(bench.hold(other, record("c", delay=100)), PolicyViolation)
    refusal = bench.hold(other, record("d", delay=100))
    assert isinstance(refusal, PolicyViolation)
    assert "stage.max.entries=3" in str(refusal)
    bench.pass_ms(100)
    assert not isinstance(bench.hold(other, record("d", delay=100)), PolicyViolation)


@trio_test
async def test_changed_keys_are_in_force_at_once(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("x", delay=100))
    resource = ConfigResource(ResourceType.TOPIC, "t")
    await bench.controller.alter_configs([(resource, [ConfigAlteration("stage.max.bytes", AlterOperation.SET, "77")])])
    assert bench.staged(topic).stage.config.stage_max_bytes == 77


@trio_test
async def test_a_deleted_topic_takes_its_stage_along(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("later", delay=100))
    directory = bench.controller.partitions.directory(topic.topic_id)
    await bench.controller.delete_topics(["t"])
    await bench.deletions.remove_files([topic.topic_id])
    bench.pass_ms(1_000)
    assert bench.files.list(os.path.join(directory, "0", "stage")) == {}


@trio_test
async def test_statistics_add_up(bench: Bench) -> None:
    topic = await bench.create(partitions=2)
    bench.hold(topic, record("a", delay=100))
    bench.hold(topic, record("b", delay=100), index=1)
    await trio.lowlevel.checkpoint()
    assert bench.releases.statistics()["pending"] == 2


@trio_test
async def test_on_a_full_disk_what_was_staged_is_released_and_clients_are_refused(bench: Bench) -> None:
    topic = await bench.create()
    bench.hold(topic, record("later", delay=100))
    assert bench.releases.reserve.held
    bench.files.capacity_bytes = 0
    bench.clock.advance_ms(100)
    bench.timers.run_due(bench.clock.monotonic())
    assert bench.partition(topic).log.end_offset == 0
    assert not bench.releases.reserve.held
    assert bench.controller.partitions.refusal is not None
    bench.files.capacity_bytes = bench.files.used_bytes() + 100_000
    bench.pass_ms(1_000)
    assert bench.partition(topic).log.end_offset == 1
    bench.pass_ms(5_000)
    assert bench.controller.partitions.refusal is not None
    bench.files.capacity_bytes = None
    bench.pass_ms(5_000)
    assert bench.controller.partitions.refusal is None
    assert bench.releases.reserve.held
