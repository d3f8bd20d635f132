"""A node does what the catalogue says, whoever has said it: which partitions lie on it, which it leads, how they are
configured."""

import errno
import random
from collections.abc import Sequence

import pytest
import trio
from attrs import define, evolve, field
from trio.testing import MockClock, trio_test, wait_all_tasks_blocked

from coordinators.cluster.controller import TURN_S
from coordinators.cluster.replica_manager import IN_FORCE_S, LOOK_AGAIN_S
from coordinators.topic_view import TopicUpdate
from coordinators.topics import PartitionsSpec, TopicSpec
from engine.catalogue.catalogue import Commit, Event, OnNews, Put, Watch
from engine.catalogue.etcd.catalogue import MAX_OPERATIONS, _parts
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import broker_configs_key, encode
from engine.catalogue.sqlite import IN_MEMORY, SqliteCatalogue
from engine.errors import NotLeader, StorageError
from engine.log.log import Log
from engine.partition.partition import Partition
from engine.partition.partitions import Partitions, PartitionSpec
from engine.partition.replicas import Role
from tests.coordinators.cluster.nodes import ClusterNode, place
from tests.coordinators.replication.world import replication
from tests.engine.logs import batch
from tests.simulation.etcd import SimulatedEtcd
from tests.simulation.etcd_catalogue import SimulatedCatalogue


@pytest.fixture
def catalogue() -> MemoryCatalogue:
    return MemoryCatalogue()


@trio_test
async def test_a_node_follows_what_another_has_decided(catalogue: MemoryCatalogue) -> None:
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(two.replicas.follow)
        await wait_all_tasks_blocked()
        topic = await one.create("t", 2)
        await wait_all_tasks_blocked()
        assert "t" in two.replicas.topics.by_name, "what exists"
        assert list(two.partitions) == [], "what lies here"
        nursery.cancel_scope.cancel()
    assert [partition.role for partition in one.partitions.of_topic(topic.topic_id)] == [Role.LEADER] * 2


@trio_test
async def test_of_a_topic_a_node_holds_what_its_rows_say(catalogue: MemoryCatalogue) -> None:
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    topic = await one.create("t", 3)
    place(catalogue, topic, 1, replicas=(1, 2), isr=(1,), leader=1)
    place(catalogue, topic, 2, replicas=(2, 1), isr=(2, 1), leader=2)
    for node in (one, two):
        await node.replicas.catch_up()
        await node.background.run()
    assert [(each.index, each.role) for each in two.partitions] == [(1, Role.FOLLOWER), (2, Role.LEADER)]
    assert [each.role for each in one.partitions] == [Role.LEADER, Role.LEADER, Role.FOLLOWER]
    with pytest.raises(NotLeader) as refused:
        one.partition(topic, 2).write(batch())
    assert (refused.value.leader, refused.value.leader_epoch) == (2, 1)
    assert two.heard == [("leads", "t", 2)]


@trio_test
async def test_others_are_told_once_for_every_epoch(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    place(catalogue, topic, 0, replicas=(1, 2), isr=(1,))
    await one.replicas.catch_up()
    assert one.heard == [("leads", "t", 0)], "a new replica is no new epoch"
    place(catalogue, topic, 0, leader=2)
    await one.replicas.catch_up()
    place(catalogue, topic, 0, leader=1)
    await one.replicas.catch_up()
    assert one.heard == [("leads", "t", 0), ("resigned", "t", 0), ("leads", "t", 0)]
    await one.controller.delete_topics(["t"])
    assert one.heard[-1] == ("resigned", "t", 0)


@trio_test
async def test_a_new_leader_notes_where_its_epoch_begins(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    one.write(topic)
    place(catalogue, topic, 0, replicas=(1, 2), isr=(1, 2), leader=2)
    place(catalogue, topic, 0, leader=1)
    await one.replicas.catch_up()
    assert one.partition(topic).log.end_offset_for_epoch(1) == (0, 1), "it wrote nothing in between"
    one.files.crash()
    one.restart()
    await one.replicas.open_all(clean=False)
    log = one.partition(topic).log
    assert (log.latest_epoch, log.end_offset_for_epoch(0)) == (2, (0, 1))


@trio_test
async def test_a_replica_that_goes_elsewhere_leaves_no_files(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t", 2)
    for index in range(2):
        one.write(topic, index)
    place(catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
    await one.replicas.catch_up()
    await one.background.run()
    assert [each.index for each in one.partitions] == [1]
    assert one.files.list(one.partitions.directory(topic.topic_id, 0)) == {}
    assert one.files.list(one.partitions.directory(topic.topic_id, 1))


@trio_test
async def test_what_lies_on_the_disk_and_elsewhere_by_its_row_is_left_alone(
    catalogue: MemoryCatalogue, caplog: pytest.LogCaptureFixture
) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t", 2)
    for index in range(2):
        one.write(topic, index)
    place(catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
    one.restart()
    await one.replicas.open_all(clean=False)
    await one.background.run()
    assert "1 partitions on the disk, such as partition 0 of 't', lie on other nodes" in caplog.text
    assert one.files.list(one.partitions.directory(topic.topic_id, 0))


@trio_test
async def test_a_node_that_was_given_anothers_number_does_not_start(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    one.write(topic)
    other = ClusterNode(2, catalogue, one.files)
    with pytest.raises(StorageError, match=r"lie on other nodes than 2; is node\.id what it was\?"):
        await other.replicas.open_all(clean=False)


@trio_test
async def test_a_restart_opens_what_lies_here_in_its_role(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t", 3)
    for index in range(3):
        one.write(topic, index)
    place(catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
    place(catalogue, topic, 1, replicas=(1, 2), isr=(1, 2), leader=2)
    one.restart()
    await one.replicas.open_all(clean=False)
    assert [(each.index, each.role) for each in one.partitions] == [(1, Role.FOLLOWER), (2, Role.LEADER)]
    assert one.heard == [("leads", "t", 2)]


@trio_test
async def test_the_high_watermark_of_what_others_hold_too_is_recalled(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    shared, alone = await one.create("shared"), await one.create("alone")
    place(catalogue, shared, 0, replicas=(1, 2), isr=(1, 2))
    await one.replicas.catch_up()
    for _ in range(3):
        one.write(shared)
        one.write(alone)
    one.partition(shared).replica_durable(2, 2)
    await one.replicas.note_watermarks()
    one.files.crash()
    one.restart()
    await one.replicas.open_all(clean=False)
    assert one.partition(shared).high_watermark.offset == 2, "node 2 may not have the third"
    assert one.partition(alone).high_watermark.offset == 3
    one.files.unlink("/data/high-watermarks")
    one.restart()
    await one.replicas.open_all(clean=False)
    assert one.partition(shared).high_watermark.offset == 0, "until node 2 has told"


@trio_test
async def test_a_node_that_holds_everything_alone_notes_no_high_watermarks(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    one.write(await one.create("t"))
    await one.replicas.note_watermarks()
    assert "high-watermarks" not in one.files.list("/data")


@trio_test
async def test_configs_that_another_node_sets_are_in_force_here(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    changed: list[TopicUpdate] = []
    one.replicas.on_change.append(changed.append)
    configs = {"log.retention.ms": "1234", "min.insync.replicas": "2"}
    catalogue.commit(Commit((), (Put(broker_configs_key(None), encode(configs)),)))
    await one.replicas.catch_up()
    partition = one.partition(topic)
    assert (partition.log.config.retention_ms, partition.replicas.min_insync) == (1234, 2)
    assert [update.after is not None and update.after.name for update in changed] == ["t"]


@trio_test
async def test_a_node_that_fell_far_behind_takes_in_all_that_there_is_now() -> None:
    catalogue = SqliteCatalogue.open(IN_MEMORY)
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    gone = await one.create("gone")
    await two.replicas.catch_up()
    await one.controller.delete_topics(["gone"])
    kept = await one.create("kept")
    await one.background.run()
    for number in range(1_200):
        catalogue.commit(Commit((), (Put("producer-ids", b"%d" % number),)))
    await two.replicas.catch_up()
    assert set(two.replicas.topics.by_name) == {"kept"}
    assert gone.topic_id not in two.replicas.topics.deleting
    await one.controller.delete_topics(["kept"])
    await two.replicas.catch_up()
    assert kept.topic_id in two.replicas.topics.deleting, "from there on it follows as before"
    catalogue.close()


@trio_test
async def test_a_node_that_fell_far_behind_hears_of_what_comes_then() -> None:
    etcd = SimulatedEtcd(random.Random(1))
    catalogues = [SimulatedCatalogue(etcd, random.Random(1), lag=False) for _ in range(2)]
    one, two = (ClusterNode(number, catalogue) for number, catalogue in enumerate(catalogues, 1))
    await one.create("t")
    etcd.compact()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(two.replicas.follow)
        await wait_all_tasks_blocked()
        assert set(two.replicas.topics.by_name) == {"t"}
        await one.create("u")
        await wait_all_tasks_blocked()
        assert set(two.replicas.topics.by_name) == {"t", "u"}
        nursery.cancel_scope.cancel()


@trio_test
async def test_a_follower_of_topics_that_fails_keeps_nobody_from_going_on(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)

    def broken(_: TopicUpdate) -> None:
        raise ZeroDivisionError

    one.replicas.on_change.append(broken)
    await one.create("t")
    await one.create("u")
    assert len(list(one.partitions)) == 2


@trio_test
async def test_a_log_that_cannot_be_made_keeps_nobody_from_hearing_what_else_is_new(
    catalogue: MemoryCatalogue, monkeypatch: pytest.MonkeyPatch, jumping: MockClock
) -> None:
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    topics = [await one.create(name) for name in ("t", "u")]
    for topic in topics:
        place(catalogue, topic, 0, replicas=(1, 2))
    new_log, is_full = two.partitions.new_log, True

    def make(spec: PartitionSpec) -> Log:
        if spec.topic == "t" and is_full:
            raise OSError(errno.ENOSPC, "no space left on device")
        return new_log(spec)

    monkeypatch.setattr(Partitions, "new_log", lambda _, spec: make(spec))
    place(catalogue, await one.create("v"), 0, replicas=(1, 2))
    await two.replicas.catch_up()
    assert set(two.replicas.topics.by_name) == {"t", "u", "v"}
    is_full = False
    await two.background.run()
    assert {each.log.name for each in two.partitions} == {"t-0", "u-0", "v-0"}


@define(eq=False)
class Delayed(MemoryCatalogue):
    """One that is elsewhere: its news come when the test lets them, and it may not be there."""

    watches: "list[DelayedWatch]" = field(factory=list)
    looks: int = 0
    trouble: StorageError | None = None

    def watch(self, after_revision: int, prefix: str = "", on_news: OnNews | None = None) -> "DelayedWatch":  # type: ignore[override]
        assert on_news is not None
        self.watches.append(DelayedWatch(self, MemoryCatalogue.watch(self, after_revision, prefix), on_news))
        return self.watches[-1]

    def bring(self) -> None:
        """What was committed arrives."""
        for watch in self.watches:
            watch.ready += watch.inner.next(0)
            watch.on_news()


@define(eq=False)
class DelayedWatch:
    catalogue: Delayed
    inner: Watch
    on_news: OnNews
    ready: list[Event] = field(factory=list)
    reached: int = 0

    def next(self, timeout_s: float) -> Sequence[Event]:
        self.catalogue.looks += 1
        if self.catalogue.trouble is not None:
            raise self.catalogue.trouble
        events, self.ready = self.ready, []
        self.reached = self.inner.reached
        return events

    def close(self) -> None:
        self.inner.close()


async def _create(node: ClusterNode, results: list[object]) -> None:
    results += await node.controller.create_topics([TopicSpec("t", 1)])


def test_a_change_is_answered_when_the_news_of_it_came_and_nobody_asks_meanwhile() -> None:
    async def scenario() -> None:
        catalogue = Delayed()
        node = ClusterNode(1, catalogue)
        results: list[object] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_create, node, results)
            await trio.sleep(LOOK_AGAIN_S * 0.9)
            assert (results, catalogue.looks) == ([], 1)
            catalogue.bring()
            await trio.testing.wait_all_tasks_blocked()
            assert [str(getattr(each, "name", each)) for each in results] == ["t"]

    trio.run(scenario, clock=MockClock(autojump_threshold=0))


def test_news_that_do_not_come_are_waited_for_no_longer_than_is_told() -> None:
    async def scenario() -> None:
        catalogue = Delayed()
        node = ClusterNode(1, catalogue)
        results: list[object] = []
        await _create(node, results)
        assert IN_FORCE_S <= trio.current_time() - began < 2 * IN_FORCE_S
        (refused,) = results
        assert isinstance(refused, StorageError)
        catalogue.bring()
        await node.replicas.catch_up()
        assert "t" in node.replicas.topics.by_name, "it was committed all the same"

    began = 0.0
    trio.run(scenario, clock=MockClock(autojump_threshold=0))


def test_a_watch_that_fails_for_a_while_loses_nothing() -> None:
    async def scenario() -> None:
        catalogue = Delayed()
        node = ClusterNode(1, catalogue)
        results: list[object] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.replicas.follow)
            await trio.testing.wait_all_tasks_blocked()
            catalogue.trouble = StorageError("no etcd answers")
            nursery.start_soon(_create, node, results)
            await trio.sleep(3)
            assert results == []
            catalogue.trouble = None
            catalogue.bring()
            await trio.sleep(2)
            assert [str(getattr(each, "name", each)) for each in results] == ["t"]
            nursery.cancel_scope.cancel()

    trio.run(scenario, clock=MockClock(autojump_threshold=0))


def test_whoever_waits_behind_changes_that_hang_is_refused_in_time() -> None:
    async def scenario() -> None:
        catalogue = Delayed()
        node = ClusterNode(1, catalogue)
        catalogue.trouble = StorageError("no etcd answers")
        results: list[object] = []
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(_create, node, results)
        assert trio.current_time() - began <= TURN_S + IN_FORCE_S + 2 * LOOK_AGAIN_S
        assert len(results) == 20
        assert all(isinstance(each, StorageError) for each in results)

    began = 0.0
    trio.run(scenario, clock=MockClock(autojump_threshold=0))


@trio_test
async def test_a_replica_that_comes_to_an_older_topic_is_opened_empty_and_followed(catalogue: MemoryCatalogue) -> None:
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    topic = await one.create("t", 2)
    one.write(topic)
    row = place(catalogue, topic, 0, replicas=(1, 2), adding=(2,))
    await two.replicas.catch_up()
    await two.background.run()
    partition = two.partition(topic)
    assert (partition.role, partition.log.end.offset, partition.replicas.row) == (Role.FOLLOWER, 0, row)
    assert [each.index for each in two.partitions] == [0]


@trio_test
async def test_a_replica_that_is_back_before_its_files_are_removed_keeps_them(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    one.write(topic)
    place(catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
    await one.replicas.catch_up()
    assert list(one.partitions) == []
    place(catalogue, topic, 0, replicas=(2, 1), adding=(1,))
    await one.replicas.catch_up()
    await one.background.run()
    assert one.partition(topic).log.end.offset == 1
    assert one.partition(topic).role is Role.FOLLOWER


@trio_test
async def test_a_replica_that_is_back_after_its_files_were_removed_begins_anew(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    one.write(topic)
    for replicas in ((2,), (2, 1)):
        place(catalogue, topic, 0, replicas=replicas, isr=(2,), leader=2)
        await one.replicas.catch_up()
        await one.background.run()
    assert one.partition(topic).log.end.offset == 0


@trio_test
async def test_a_replica_that_was_back_only_for_a_moment_leaves_no_files(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    one.write(topic)
    # It goes, comes back and goes before anything of that has been done on the disk; what was to remove its files the
    # first time finds it back.
    place(catalogue, topic, 0, replicas=(2,), isr=(2,), leader=2)
    await one.replicas.catch_up()
    place(catalogue, topic, 0, replicas=(2, 1), adding=(1,))
    await one.replicas.catch_up()
    await one.background.started.pop(0)()
    assert one.files.list(one.partitions.directory(topic.topic_id, 0))
    place(catalogue, topic, 0, replicas=(2,), adding=())
    await one.replicas.catch_up()
    await one.background.run()
    assert list(one.partitions) == []
    assert one.files.list(one.partitions.directory(topic.topic_id, 0)) == {}


@trio_test
async def test_a_replica_whose_stage_cannot_be_opened_is_tried_again(
    catalogue: MemoryCatalogue, jumping: MockClock
) -> None:
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    topic = await one.create("t")
    failures = [StorageError("the disk does not answer")]

    async def opened(_: Partition) -> None:
        if failures:
            raise failures.pop()

    two.replicas.on_opened.append(opened)
    place(catalogue, topic, 0, replicas=(1, 2), adding=(2,))
    await two.replicas.catch_up()
    await two.background.run()
    assert two.partition(topic).role is Role.FOLLOWER


@trio_test
async def test_who_has_stepped_down_leads_again_only_in_a_new_epoch(jumping: MockClock) -> None:
    """Others change the row meanwhile, who do not know yet."""
    async with replication(1, 2, replicas=(1, 2)) as world:
        node = world.nodes[1]
        await node.replicas.step_down()
        assert not node.partition.replicas.leads
        for _ in range(3):
            world.change_row(isr=(1, 2))
        await trio.sleep(1)
        assert not node.partition.replicas.leads
        await world.elect(1)
        assert node.partition.replicas.leads


@trio_test
async def test_a_row_of_an_earlier_life_that_is_changed_makes_nobody_lead(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        node = world.nodes[1]
        node.crash()
        await world.start(1)
        world.change_row(isr=(1,))
        await trio.sleep(1)
        assert not node.partition.replicas.leads


@trio_test
async def test_a_replica_that_comes_here_is_opened_though_its_stage_could_not_be_at_first(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1,), isr=(1,)) as world:
        leader, node = world.nodes[1], world.nodes[2]
        troubles = [StorageError("the stage cannot be read now")]

        async def opened(_partition: object) -> None:
            await trio.lowlevel.checkpoint()
            if troubles:
                raise troubles.pop()

        node.replicas.on_opened.append(opened)
        world.change_row(replicas=(1, 2))
        await world.until(lambda: world.row.isr == (1, 2))
        await world.until_alike(leader, node)


class InParts(MemoryCatalogue):
    """Takes no more changes at once than etcd does."""

    def commit(self, commit: Commit) -> int:
        return [super(InParts, self).commit(part) for part in _parts(commit)][-1]


@trio_test
async def test_a_topic_whose_rows_come_in_several_revisions_is_there_with_the_last() -> None:
    catalogue = InParts()
    one, two = ClusterNode(1, catalogue), ClusterNode(2, catalogue)
    count = 2 * MAX_OPERATIONS + 10
    topic = await one.create("t", count)
    assert [each.index for each in one.partitions.of_topic(topic.topic_id)] == list(range(count))
    (outcome,) = await one.controller.create_partitions([PartitionsSpec("t", 2 * count)])
    assert not isinstance(outcome, Exception), outcome
    assert len(list(one.partitions)) == 2 * count
    one.write(topic, 2 * count - 1)
    for node in (two, ClusterNode(3, catalogue)):
        await node.replicas.catch_up()
        assert len(node.replicas.topics.by_name["t"].partitions) == 2 * count
    await one.controller.delete_topics(["t"])
    await two.replicas.catch_up()
    assert two.replicas.topics.by_name == {}
    assert two.replicas.topics._early == {}


@trio_test
async def test_rows_of_a_topic_that_never_comes_do_no_harm(catalogue: MemoryCatalogue) -> None:
    """A node ended between two parts of a commit."""
    one = ClusterNode(1, catalogue)
    topic = await one.create("t", 2)
    row = topic.partitions[0].encode()
    for key in (evolve(topic.record, id=bytes(16)).partition_key(0), topic.record.partition_key(5)):
        catalogue.commit(Commit((), (Put(key, row),)))
    for node in (one, ClusterNode(1, catalogue)):
        await node.replicas.catch_up()
        assert [len(each.partitions) for each in node.replicas.topics.view] == [2]
    (outcome,) = await one.controller.create_partitions([PartitionsSpec("t", 4)])
    assert not isinstance(outcome, Exception), outcome
    assert len(one.partitions.of_topic(topic.topic_id)) == 4
