"""Changes of topics: durable before they are in force, one after the other, finished whatever the client does."""

import errno
import sqlite3
from collections.abc import Sequence

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock, trio_test, wait_all_tasks_blocked

from coordinators.cluster.controller import PLANNED_AT_MOST, ClusterController
from coordinators.cluster.deletions import Deletions
from coordinators.cluster.replica_manager import MADE_AT_ONCE, ReplicaManager
from coordinators.configs import AlterOperation, ConfigAlteration, ConfigResource, ResourceType
from coordinators.topic_creation import PartitionsSpec, TopicSpec
from coordinators.topic_view import Topic
from coordinators.topics import Topics
from engine.catalogue.catalogue import CatalogueConflict, Commit
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import TopicRecord
from engine.clock import ManualClock
from engine.errors import InvalidPartitions, InvalidTopic, StorageError, TopicAlreadyExists
from engine.files.memory import MemoryFiles
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.workers import InlineWorkers
from tests.coordinators.background import HeldBackground
from tests.coordinators.conftest import Desk
from tests.engine.logs import batch, memory_files


@define(eq=False)
class Bench:
    """A controller over a catalogue and a disk in memory."""

    desk: Desk
    files: MemoryFiles = field(factory=memory_files)
    workers: InlineWorkers = field(factory=InlineWorkers)
    topics: Topics = field(init=False)
    rounds: SyncRounds = field(init=False)
    partitions: Partitions = field(init=False)
    background: HeldBackground = field(init=False)
    replicas: ReplicaManager = field(init=False)
    controller: ClusterController = field(init=False)
    deletions: Deletions = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.topics = self.desk.restart()
        self.rounds = SyncRounds(InlineWorkers(), lambda: None)
        self.partitions = Partitions("/data", self.files, ManualClock(), self.workers, self.rounds, lambda *_: None)
        self.background = HeldBackground()
        catalogue = self.desk.catalogue
        self.replicas = ReplicaManager(catalogue, self.topics, self.partitions, self.workers, self.background)
        self.controller = ClusterController(self.replicas)
        self.deletions = Deletions(self.controller)

    async def create(self, name: str, partitions: int = 1, **configs: str) -> Topic:
        spec = TopicSpec(name, partitions, configs={key.replace("_", "."): value for key, value in configs.items()})
        (result,) = await self.controller.create_topics([spec])
        assert isinstance(result, Topic), result
        return result

    def write(self, topic: Topic, index: int = 0) -> None:
        partition = self.partitions.get(topic.topic_id, index)
        assert partition is not None
        partition.write(batch())
        self.rounds.start_round()

    async def run_started(self) -> None:
        await self.background.run()


@pytest.fixture
def bench(desk: Desk) -> Bench:
    return Bench(desk)


@pytest.fixture
def jumping() -> MockClock:
    """Time that passes at once when nobody has anything to do."""
    return MockClock(autojump_threshold=0)


@trio_test
async def test_a_topic_is_served_when_its_creation_returns(bench: Bench) -> None:
    topic = await bench.create("t", 3)
    assert len(bench.partitions.of_topic(topic.topic_id)) == 3
    assert "t" in bench.topics.by_name


@trio_test
async def test_nothing_is_made_by_validating(bench: Bench) -> None:
    (result,) = await bench.controller.create_topics([TopicSpec("t", 1)], validate_only=True)
    assert isinstance(result, Topic)
    assert "t" not in bench.topics.by_name
    assert list(bench.partitions) == []


@trio_test
async def test_each_topic_of_a_request_succeeds_or_fails_for_itself(bench: Bench) -> None:
    await bench.create("t")
    specs = [TopicSpec("t", 1), TopicSpec("fine", 1), TopicSpec("none", 0)]
    exists, fine, none = await bench.controller.create_topics(specs)
    assert isinstance(exists, TopicAlreadyExists)
    assert isinstance(fine, Topic)
    assert isinstance(none, InvalidPartitions)


@trio_test
async def test_a_change_that_cannot_be_written_is_not_in_force(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(MemoryCatalogue, "commit", full)
    good, bad = await bench.controller.create_topics([TopicSpec("t", 1), TopicSpec("a b", 1)])
    assert isinstance(good, StorageError)
    assert not isinstance(bad, StorageError | Topic), "who was refused before is told his own reason"
    assert "t" not in bench.topics.by_name
    monkeypatch.undo()
    await bench.create("t")


@trio_test
async def test_changes_are_planned_one_after_the_other(bench: Bench) -> None:
    bench.workers.hold = True
    results: list[object] = []

    async def create() -> None:
        results.extend(await bench.controller.create_topics([TopicSpec("t", 1)]))

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(create)
        while len(results) < 2:
            await wait_all_tasks_blocked()
            bench.workers.run_held()
    assert sorted(type(result).__name__ for result in results) == ["Topic", "TopicAlreadyExists"]


@trio_test
async def test_a_change_is_finished_although_its_client_has_gone(bench: Bench) -> None:
    bench.workers.hold = True
    client = trio.CancelScope()

    async def create() -> None:
        with client:
            await bench.controller.create_topics([TopicSpec("t", 2)])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(create)
        await wait_all_tasks_blocked()
        bench.workers.run_held()  # it is planned, and now being committed
        await wait_all_tasks_blocked()
        client.cancel()
        await wait_all_tasks_blocked()
        nursery.start_soon(bench.replicas.follow)
        while bench.workers.run_held():
            await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert len(list(bench.partitions)) == 2


@trio_test
async def test_partitions_are_added(bench: Bench) -> None:
    topic = await bench.create("t")
    bench.write(topic)
    await bench.controller.create_partitions([PartitionsSpec("t", 3)])
    first, *others = bench.partitions.of_topic(topic.topic_id)
    assert (first.high_watermark.offset, len(others)) == (1, 2)


@trio_test
async def test_a_deleted_topic_leaves_no_files_and_no_memory_of_it(bench: Bench) -> None:
    topic = await bench.create("t")
    bench.write(topic)
    await bench.controller.delete_topics(["t"])
    assert list(bench.partitions) == []
    assert bench.topics.deleting
    await bench.run_started()
    assert bench.files.used_bytes() == 0
    assert not bench.topics.deleting


@trio_test
async def test_files_that_cannot_be_removed_are_removed_a_little_later(bench: Bench, jumping: MockClock) -> None:
    topic = await bench.create("t")
    bench.write(topic)
    await bench.controller.delete_topics(["t"])
    bench.files.fail_at(1, errno.ENOTEMPTY, times=3, only=frozenset({"remove_tree"}))
    began = trio.current_time()
    await bench.run_started()
    assert 5 < trio.current_time() - began < 30
    assert bench.files.used_bytes() == 0
    assert not bench.topics.deleting


@trio_test
async def test_what_cannot_be_cleaned_up_now_is_cleaned_up_later(bench: Bench, jumping: MockClock) -> None:
    attempts: list[str] = []

    async def clean_up(records: Sequence[TopicRecord]) -> None:
        attempts.extend(record.name for record in records)
        if len(attempts) < 3:
            raise StorageError("not now")

    bench.deletions.clean_ups.append(clean_up)
    await bench.create("t")
    await bench.controller.delete_topics(["t"])
    await bench.run_started()
    assert attempts == ["t"] * 3
    assert not bench.topics.deleting


@trio_test
async def test_files_that_were_not_removed_before_the_end_are_removed_by_the_next_start(
    bench: Bench, jumping: MockClock
) -> None:
    topic = await bench.create("t")
    bench.write(topic)
    await bench.controller.delete_topics(["t"])
    bench.files.fail_at(1, errno.EIO, only=frozenset({"remove_tree"}))
    with trio.move_on_after(0.01):
        await bench.run_started()
    bench.files.stop_failing()
    assert bench.files.used_bytes() > 0
    bench.restart()
    await bench.replicas.open_all(clean=False)
    await bench.deletions.finish_all()
    assert bench.files.used_bytes() == 0
    assert not bench.topics.deleting


@trio_test
async def test_a_restart_opens_every_log_with_its_records(bench: Bench) -> None:
    topics = [await bench.create(f"t{number}", 2) for number in range(10)]
    for topic in topics:
        bench.write(topic, index=1)
    bench.restart()
    await bench.replicas.open_all(clean=False)
    assert len(list(bench.partitions)) == 20
    for topic in topics:
        empty, written = bench.partitions.of_topic(topic.topic_id)
        assert (empty.high_watermark.offset, written.high_watermark.offset) == (0, 1)


@trio_test
async def test_configs_reach_the_logs(bench: Bench) -> None:
    topic = await bench.create("t", max_message_bytes="500")
    (partition,) = bench.partitions.of_topic(topic.topic_id)
    assert partition.log.config.max_message_bytes == 500
    resource = ConfigResource(ResourceType.TOPIC, "t")
    alteration = ConfigAlteration("max.message.bytes", AlterOperation.SET, "600")
    await bench.controller.alter_configs([(resource, [alteration])])
    assert partition.log.config.max_message_bytes == 600
    await bench.controller.replace_configs([(resource, {"flush.mode": "os"})])
    assert partition.log.config.max_message_bytes > 600
    assert not partition.sync_writes


@trio_test
async def test_what_belongs_to_the_partitions_is_open_before_anybody_hears_of_them(desk: Desk) -> None:
    """Such as their stages: a coordinator that goes on ends transactions at once."""
    bench = Bench(desk)
    await bench.create("orders")
    bench.restart()
    events: list[str] = []
    bench.replicas.on_leading.append(lambda _topic, _partition: events.append("heard"))

    async def open_more() -> None:
        await trio.lowlevel.checkpoint()
        events.append("open")

    await bench.replicas.open_all(clean=False, then=open_more)
    assert events == ["open", "heard"]


@trio_test
async def test_others_go_on_while_many_topics_are_made_and_deleted(bench: Bench) -> None:
    most = 0
    with trio.CancelScope() as scope:
        turns = 0

        async def other() -> None:
            nonlocal turns, most
            seen = 0
            while True:
                await trio.lowlevel.checkpoint()
                turns += 1
                have = len(list(bench.partitions))
                most, seen = max(most, abs(have - seen)), have

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await bench.controller.create_topics([TopicSpec(f"t{number}", 2) for number in range(500)])
            await bench.create("wide", 1000)
            assert len(list(bench.partitions)) == 2000
            await bench.controller.delete_topics(["wide", *(f"t{number}" for number in range(500))])
            assert len(list(bench.partitions)) == 0
            scope.cancel()
    # A topic's partitions go out of sight together; they are made, and retired, in slices.
    assert most <= 1000
    assert turns >= 2 * 2000 / MADE_AT_ONCE


@trio_test
async def test_a_topic_is_known_when_all_its_partitions_are_there(bench: Bench) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.create, "wide", 1000)
        while "wide" not in bench.topics.by_name:
            await trio.lowlevel.checkpoint()
        assert len(list(bench.partitions)) == 1000


@trio_test
async def test_a_new_topic_is_made_without_a_look_at_the_disk(bench: Bench) -> None:
    before = bench.files.calls
    await bench.create("t", 100)
    assert bench.files.calls == before


@trio_test
async def test_the_files_of_many_deleted_topics_go_in_few_changes(bench: Bench) -> None:
    for number in range(20):
        bench.write(await bench.create(f"t{number}"))
    before = bench.desk.catalogue.revision()
    await bench.controller.delete_topics([f"t{number}" for number in range(20)])
    await bench.run_started()
    assert bench.topics.deleting == {}
    assert bench.files.list("/data/topics") == {}
    assert bench.desk.catalogue.revision() == before + 2


@trio_test
async def test_a_directory_that_cannot_be_removed_does_not_keep_the_others(bench: Bench, jumping: MockClock) -> None:
    topics = [await bench.create(name) for name in ("a", "b")]
    for topic in topics:
        bench.write(topic)
    bench.files.fail_at(1, errno.EIO, only=frozenset({"remove_tree"}))
    await bench.controller.delete_topics(["a", "b"])
    with trio.move_on_after(0.01):
        await bench.run_started()
    assert list(bench.topics.deleting) == [topics[0].topic_id]
    bench.files.stop_failing()
    bench.restart()
    await bench.deletions.finish_all()
    assert bench.topics.deleting == {}


def _full_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next commit finds the disk full."""
    real, full = bench.desk.catalogue.commit, [True]

    def commit(commit: Commit) -> int:
        if full.pop() if full else False:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise StorageError("the catalogue failed") from error
        return real(commit)

    monkeypatch.setattr(MemoryCatalogue, "commit", lambda _, changes: commit(changes))


@trio_test
async def test_on_a_full_disk_topics_can_be_deleted_and_configured_and_not_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.create("t")
    await bench.create("u")
    retention = ConfigAlteration("retention.ms", AlterOperation.SET, "1000")
    resource = ConfigResource(ResourceType.TOPIC, "u")
    for change in (
        lambda: bench.controller.delete_topics(["t"]),
        lambda: bench.controller.alter_configs([(resource, [retention])]),
    ):
        bench.partitions.storage.keep_reserve(1000)
        assert "deletion-reserve" in bench.files.list("/data")
        _full_once(bench, monkeypatch)
        (result,) = await change()
        assert not isinstance(result, StorageError)
        assert "deletion-reserve" not in bench.files.list("/data")
        assert bench.partitions.refusal is not None, "clients must not fill what was given up"
    assert [topic.name for topic in bench.topics.view] == ["u"]
    bench.partitions.storage.keep_reserve(1000)
    assert bench.partitions.refusal is None
    _full_once(bench, monkeypatch)
    (result,) = await bench.controller.create_topics([TopicSpec("v", 1)])
    assert isinstance(result, StorageError)
    assert "deletion-reserve" in bench.files.list("/data")
    assert bench.partitions.storage.refused == "the disk is full: changes of topics and configs cannot be written"


@trio_test
async def test_the_files_of_a_deleted_topic_go_before_anything_is_written_about_it(bench: Bench) -> None:
    topic = await bench.create("t")
    bench.write(topic)
    found: list[dict[str, int]] = []

    async def clean_up(_: Sequence[TopicRecord]) -> None:
        found.append(bench.files.list(bench.partitions.directory(topic.topic_id, 0)))

    bench.deletions.clean_ups.append(clean_up)
    await bench.controller.delete_topics(["t"])
    await bench.run_started()
    assert found == [{}]


@trio_test
async def test_a_change_is_planned_again_when_somebody_else_was_quicker(desk: Desk) -> None:
    one, two = Bench(desk), Bench(desk)
    await one.create("a")
    assert "a" not in two.topics.by_name, "it has not looked"
    taken, made = await two.controller.create_topics([TopicSpec("a", 1), TopicSpec("b", 1)])
    assert isinstance(taken, TopicAlreadyExists)
    assert isinstance(made, Topic)


@trio_test
async def test_who_is_always_overtaken_is_told_so_in_the_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = 0

    def conflict(_catalogue: MemoryCatalogue, commit: Commit) -> int:
        nonlocal planned
        planned += bool(commit.compares)
        raise CatalogueConflict("topics/t was changed meanwhile")

    monkeypatch.setattr(MemoryCatalogue, "commit", conflict)
    (result,) = await bench.controller.create_topics([TopicSpec("t", 1)])
    assert isinstance(result, CatalogueConflict)
    assert planned == PLANNED_AT_MOST


@trio_test
async def test_the_next_change_is_planned_with_one_whose_client_went_away_in_it(bench: Bench) -> None:
    bench.workers.hold = True
    client = trio.CancelScope()
    results: list[object] = []

    async def create(name: str, scope: trio.CancelScope) -> None:
        with scope:
            results.extend(await bench.controller.create_topics([TopicSpec(name, 1)]))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(create, "a.b", client)
        await wait_all_tasks_blocked()
        bench.workers.run_held()
        await wait_all_tasks_blocked()
        client.cancel()
        await wait_all_tasks_blocked()
        bench.workers.run_held()  # committed; nobody has put it in force
        await wait_all_tasks_blocked()
        nursery.start_soon(create, "a_b", trio.CancelScope())
        for _ in range(10):
            await wait_all_tasks_blocked()
            bench.workers.run_held()
    assert isinstance(results[-1], InvalidTopic), "the names collide"
