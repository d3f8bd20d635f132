"""Reassignments as clients ask for them, over several nodes."""

import pytest
from trio.testing import trio_test

from coordinators.cluster.reassigning import ReassignmentSpec
from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Topic
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.errors import (
    BrokerError,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from tests.coordinators.cluster.nodes import ClusterNode, place
from tests.coordinators.cluster.sessions import SharedCatalogue


async def node_of_a_cluster(count: int = 3) -> tuple[ClusterNode, Topic]:
    """The first of several nodes, with a topic on the first two."""
    catalogue = SharedCatalogue().door()
    records = [NodeRecord(number, ("PLAINTEXT://h:1",), incarnation="i") for number in range(1, count + 1)]
    catalogue.commit(Commit((), tuple(Put(each.key, each.encode()) for each in records)))
    node = ClusterNode(1, catalogue)
    await node.replicas.catch_up()
    for record in records:
        node.replicas.nodes.by_id[record.node_id] = record
    (topic,) = await node.controller.create_topics([TopicSpec("t", assignments=[(0, [1, 2]), (1, [2, 1])])])
    assert isinstance(topic, Topic), topic
    return node, topic


def row_of(node: ClusterNode, index: int = 0) -> PartitionRecord:
    return node.replicas.topics.by_name["t"].partitions[index]


@trio_test
async def test_a_partition_moves_once_the_new_replica_is_in_sync() -> None:
    node, topic = await node_of_a_cluster()
    (moving,) = await node.controller.reassign_partitions([ReassignmentSpec("t", 0, (2, 3))])
    assert moving == row_of(node) == PartitionRecord((2, 3, 1), (1, 2), 1, 0, 1, (3,), (1,))
    place(node.catalogue, topic, 0, isr=(1, 2, 3))
    (done,) = await node.controller.reassign_partitions([ReassignmentSpec("t", 0, (2, 3))])
    assert done == row_of(node) == PartitionRecord((2, 3), (2, 3), 2, 1, 3)


@trio_test
async def test_what_others_changed_meanwhile_is_not_overwritten() -> None:
    node, topic = await node_of_a_cluster()
    # This node has not heard of it yet.
    place(node.catalogue, topic, 0, isr=(1,))
    (moving,) = await node.controller.reassign_partitions([ReassignmentSpec("t", 0, (1, 3))])
    assert isinstance(moving, PartitionRecord)
    assert (moving.isr, moving.partition_epoch) == ((1,), 2)


@trio_test
async def test_null_replicas_cancel() -> None:
    node, _ = await node_of_a_cluster()
    await node.controller.reassign_partitions([ReassignmentSpec("t", 0, (3,))])
    (back,) = await node.controller.reassign_partitions([ReassignmentSpec("t", 0, None)])
    assert isinstance(back, PartitionRecord)
    assert (back.replicas, back.adding, back.removing) == ((1, 2), (), ())


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (ReassignmentSpec("no", 0, (1,)), UnknownTopicOrPartition, r"Unable to find a topic named no\."),
        (ReassignmentSpec("t", 2, (1,)), UnknownTopicOrPartition, r"Unable to find partition t:2\."),
        (ReassignmentSpec("t", -1, (1,)), UnknownTopicOrPartition, "partition t:-1"),
        (ReassignmentSpec("t", 0, ()), InvalidReplicaAssignment, "empty replica list"),
        (ReassignmentSpec("t", 0, (1, 9)), InvalidReplicaAssignment, "broker 9, but no such broker"),
        (ReassignmentSpec("t", 0, (1, 1)), InvalidReplicaAssignment, "broker 1 more than once"),
        (ReassignmentSpec("t", 0, None), NoReassignmentInProgress, "No partition reassignment is in progress"),
    ],
)
@trio_test
async def test_what_cannot_be_is_refused_and_the_rest_is_done(
    spec: ReassignmentSpec, error: type[BrokerError], message: str
) -> None:
    node, _ = await node_of_a_cluster()
    refused, moved = await node.controller.reassign_partitions([spec, ReassignmentSpec("t", 1, (3, 1))])
    assert isinstance(moved, PartitionRecord)
    assert row_of(node, 1).adding == (3,)
    with pytest.raises(error, match=message):
        raise refused  # type: ignore[misc]


@trio_test
async def test_the_number_of_replicas_stays_where_the_client_says_so() -> None:
    node, _ = await node_of_a_cluster()
    specs = [ReassignmentSpec("t", 0, (1, 2, 3)), ReassignmentSpec("t", 1, (2, 3))]
    refused, moved = await node.controller.reassign_partitions(specs, allow_factor_change=False)
    assert isinstance(refused, InvalidReplicationFactor)
    assert str(refused) == "The replication factor is changed from 2 to 3"
    assert isinstance(moved, PartitionRecord)


@trio_test
async def test_a_partition_that_is_named_twice_is_refused() -> None:
    node, _ = await node_of_a_cluster()
    results = await node.controller.reassign_partitions(
        [ReassignmentSpec("t", 0, (3,)), ReassignmentSpec("t", 0, (2,))]
    )
    assert [type(each) for each in results] == [InvalidRequest, InvalidRequest]


@trio_test
async def test_many_partitions_of_a_topic_move_together() -> None:
    node, _ = await node_of_a_cluster()
    await node.controller.create_topics([TopicSpec("many", 40, 2)])
    specs = [ReassignmentSpec("many", index, (3, 1, 2)) for index in range(41)]
    results = await node.controller.reassign_partitions(specs)
    assert [isinstance(each, PartitionRecord) for each in results] == [True] * 40 + [False]
    assert {set(row.replicas) == {1, 2, 3} for row in node.replicas.topics.by_name["many"].partitions} == {True}
