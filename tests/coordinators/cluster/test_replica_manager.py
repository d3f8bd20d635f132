"""A node does what the catalogue says, whoever has said it: which partitions lie on it, which it leads, how they are
configured."""

import pytest
import trio
from trio.testing import trio_test, wait_all_tasks_blocked

from coordinators.topic_view import TopicUpdate
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.records import broker_configs_key, encode
from engine.catalogue.sqlite import IN_MEMORY, SqliteCatalogue
from engine.errors import NotLeader, StorageError
from engine.partition.replicas import Role
from tests.coordinators.cluster.nodes import ClusterNode, place
from tests.engine.logs import batch


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
async def test_a_follower_of_topics_that_fails_keeps_nobody_from_going_on(catalogue: MemoryCatalogue) -> None:
    one = ClusterNode(1, catalogue)

    def broken(_: TopicUpdate) -> None:
        raise ZeroDivisionError

    one.replicas.on_change.append(broken)
    await one.create("t")
    await one.create("u")
    assert len(list(one.partitions)) == 2
