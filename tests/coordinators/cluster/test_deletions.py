"""Deleted topics: every node removes its own files, one of them ends the row, and it does not matter who goes when."""

import errno
from collections.abc import Sequence

import trio
from attrs import define, field
from trio.testing import MockClock, trio_test

from coordinators.cluster.deletions import Deletions
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.records import DELETING, NodeRecord, TopicRecord
from tests.coordinators.cluster.nodes import ClusterNode
from tests.coordinators.cluster.sessions import CatalogueDoor, SharedCatalogue


@define
class World:
    """Two nodes with a topic on both; `controller` is the one that ends rows."""

    controller: int = 1
    catalogue: CatalogueDoor = field(factory=lambda: SharedCatalogue().door())
    nodes: dict[int, ClusterNode] = field(factory=dict)
    deletions: dict[int, Deletions] = field(factory=dict)
    forgotten: list[tuple[int, str]] = field(factory=list)

    def start(self, number: int) -> ClusterNode:
        node = self.nodes[number] = ClusterNode(number, self.catalogue)
        # Those of the helper would end rows on every node.
        node.replicas.on_change.clear()
        node.replicas.on_nodes.clear()

        async def forget(records: Sequence[TopicRecord]) -> None:
            self.forgotten += [(number, record.name) for record in records]

        self.deletions[number] = Deletions(node.controller, [forget], lambda: self.controller == number)
        return node

    async def topic(self) -> Topic:
        one, two = self.start(1), self.start(2)
        records = [NodeRecord(number, (), incarnation="i") for number in (1, 2)]
        self.catalogue.commit(Commit((), tuple(Put(each.key, each.encode()) for each in records)))
        await one.replicas.catch_up()
        (topic,) = await one.controller.create_topics([TopicSpec("t", 1, 2)])
        assert isinstance(topic, Topic)
        await two.replicas.catch_up()
        leader = topic.partitions[0].leader
        self.nodes[leader].write(topic)
        # The other has got it, too.
        follower = self.nodes[3 - leader]
        follower.files.make_directories(follower.partitions.directory(topic.topic_id, 0))
        return topic

    def holds(self, number: int, topic: Topic) -> bool:
        node = self.nodes[number]
        return bool(node.files.list_directories(node.partitions.directory(topic.topic_id)))

    @property
    def rows(self) -> int:
        return len(self.catalogue.entries(DELETING)[1])


async def follow(node: ClusterNode) -> None:
    await node.replicas.catch_up()
    await node.background.run()
    await node.replicas.catch_up()


@trio_test
async def test_each_node_removes_its_own_and_the_controller_ends_the_row() -> None:
    world = World(controller=1)
    topic = await world.topic()
    await world.nodes[2].controller.delete_topics(["t"])
    await follow(world.nodes[2])
    assert (world.holds(2, topic), world.holds(1, topic), world.rows) == (False, True, 1)
    await follow(world.nodes[1])
    assert (world.holds(1, topic), world.rows) == (False, 0)
    assert world.forgotten == [(2, "t"), (1, "t")]


@trio_test
async def test_a_node_that_is_late_removes_its_own_though_the_row_has_ended() -> None:
    world = World(controller=1)
    topic = await world.topic()
    await world.nodes[1].controller.delete_topics(["t"])
    await follow(world.nodes[1])
    assert world.rows == 0
    await follow(world.nodes[2])
    assert not world.holds(2, topic)
    assert world.forgotten == [(1, "t"), (2, "t")], "it knows of which topic though the row has gone"


@trio_test
async def test_another_controller_ends_what_the_last_one_could_not() -> None:
    world = World(controller=3)
    topic = await world.topic()
    for number in (1, 2):
        if number == 1:
            await world.nodes[1].controller.delete_topics(["t"])
        await follow(world.nodes[number])
        assert not world.holds(number, topic)
    assert world.rows == 1
    world.controller = 2
    record = NodeRecord(3, (), incarnation="i")
    world.catalogue.commit(Commit((), (Put(record.key, record.encode()),)))
    await follow(world.nodes[2])
    assert world.rows == 0


@trio_test
async def test_files_that_cannot_be_removed_are_tried_again_also_after_the_row_has_ended(jumping: MockClock) -> None:
    world = World(controller=1)
    topic = await world.topic()
    await world.nodes[1].controller.delete_topics(["t"])
    await follow(world.nodes[1])
    two = world.nodes[2]
    two.files.fail_at(1, errno.EIO, times=2, only=frozenset({"remove_tree"}))
    began = trio.current_time()
    await follow(two)
    assert not world.holds(2, topic)
    assert trio.current_time() - began >= 3
