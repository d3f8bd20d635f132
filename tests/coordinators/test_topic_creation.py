"""What may be created, what is refused and how, as Kafka does it."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from coordinators.cluster.defaults import cluster_keys
from coordinators.topic_creation import PartitionsSpec, TopicSpec
from coordinators.topic_view import Topic
from engine.catalogue.records import NodeRecord, PartitionRecord
from engine.config.resolve import BrokerSettings
from engine.errors import (
    BrokerError,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from tests.effort import growth
from tidegate.config_keys import BROKER_KEYS


def test_a_topic_gets_the_partitions_asked_for_all_on_this_node(desk: Any) -> None:
    topic = desk.create("orders", 3)
    assert topic.partitions == (PartitionRecord((1,), (1,), 1, 0),) * 3
    assert desk.topics.by_id[topic.topic_id] is topic


def test_without_a_number_the_brokers_default_counts(desk: Any) -> None:
    desk.restart({"num.partitions": 4})
    assert desk.create("orders", -1).partition_count == 4


def test_a_topics_settings_are_in_force(desk: Any) -> None:
    topic = desk.create("orders", 1, {"retention.ms": "5"})
    assert topic.config["retention.ms"] == 5
    assert topic.config.overrides == {"retention.ms": "5"}


def test_several_topics_of_a_request_are_one_transaction(desk: Any) -> None:
    desk.run(desk.topics.plan_create([TopicSpec("a"), TopicSpec("b"), TopicSpec("c")]))
    assert sorted(desk.topics.by_name) == ["a", "b", "c"]
    assert desk.catalogue.revision() == 1


def test_a_refused_topic_leaves_the_others_of_its_request_alone(desk: Any) -> None:
    plan = desk.topics.plan_create([TopicSpec("good"), TopicSpec("not good"), TopicSpec("better")])
    desk.commit(plan.commit)
    assert [type(result) for result in plan.results] == [Topic, InvalidTopic, Topic]
    assert sorted(desk.topics.by_name) == ["better", "good"]


def test_planning_changes_nothing(desk: Any) -> None:
    desk.topics.plan_create([TopicSpec("a")])
    assert desk.topics.by_name == {}
    assert desk.catalogue.revision() == 0


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (TopicSpec("bad name"), InvalidTopic, "characters other than"),
        (TopicSpec("there"), TopicAlreadyExists, r"Topic 'there' already exists\."),
        (TopicSpec("with_dot"), InvalidTopic, r"Topic 'with_dot' collides with existing topic: with\.dot"),
        (TopicSpec("t", 0), InvalidPartitions, "invalid non-positive value"),
        (TopicSpec("t", -2), InvalidPartitions, "invalid non-positive value"),
        (TopicSpec("t", 10_001), PolicyViolation, "Excessively large number of partitions"),
        (TopicSpec("t", 2**31 - 1), PolicyViolation, "Excessively large number of partitions"),
        (TopicSpec("t", 1, 0), InvalidReplicationFactor, "must be larger than 0"),
        (TopicSpec("t", 1, -2), InvalidReplicationFactor, "must be larger than 0"),
        (TopicSpec("t", 1, 2), InvalidReplicationFactor, r"only 1 broker\(s\) are registered"),
        (TopicSpec("t", configs={"no.such": "1"}), InvalidConfig, "Unknown topic config name: no.such"),
        (TopicSpec("t", configs={"retention.ms": "x"}), InvalidConfig, "retention.ms: must be"),
        (TopicSpec("t", configs={"retention.ms": None}), InvalidConfig, "Null value not supported"),
        (
            TopicSpec("t", configs={"priority.enable": "true", "cleanup.policy": "compact"}),
            InvalidConfig,
            r"priority\.enable: a compacted topic cannot be prioritised, and cleanup\.policy is compact",
        ),
        (TopicSpec("t", 1, -1, [(0, [1])]), InvalidRequest, "numPartitions was not set to -1"),
        (TopicSpec("t", -1, 1, [(0, [1])]), InvalidRequest, "replication factor was not set to -1"),
        (TopicSpec("t", assignments=[(1, [1])]), InvalidReplicaAssignment, "consecutive 0-based"),
        (TopicSpec("t", assignments=[(0, [1]), (0, [1])]), InvalidReplicaAssignment, "multiple manual"),
        (TopicSpec("t", assignments=[(0, [])]), InvalidReplicaAssignment, "empty replica list"),
        (TopicSpec("t", assignments=[(0, [2])]), InvalidReplicaAssignment, "broker 2, but no such broker"),
        (TopicSpec("t", assignments=[(0, [1, 1])]), InvalidReplicaAssignment, "broker 1 more than once"),
    ],
)
def test_what_cannot_be_created_is_refused(desk: Any, spec: TopicSpec, error: type[BrokerError], message: str) -> None:
    desk.create("there")
    desk.create("with.dot")
    plan = desk.topics.plan_create([spec])
    assert plan.empty
    with pytest.raises(error, match=message):
        raise plan.results[0]


def test_a_manual_assignment_to_this_node_is_taken(desk: Any) -> None:
    desk.run(desk.topics.plan_create([TopicSpec("t", assignments=[(1, [1]), (0, [1])])]))
    assert desk.topics.by_name["t"].partition_count == 2


def test_a_topic_named_twice_in_a_request_is_refused_both_times(desk: Any) -> None:
    plan = desk.topics.plan_create([TopicSpec("a"), TopicSpec("b"), TopicSpec("a")])
    assert [type(result) for result in plan.results] == [InvalidRequest, Topic, InvalidRequest]


def test_names_may_not_collide_within_a_request(desk: Any) -> None:
    plan = desk.topics.plan_create([TopicSpec("a.b"), TopicSpec("a_b")])
    assert [type(result) for result in plan.results] == [Topic, InvalidTopic]


def test_a_topic_may_not_have_more_partitions_than_configured(desk: Any) -> None:
    desk.restart({"max.partitions.per.topic": 5})
    plan = desk.topics.plan_create([TopicSpec("a", 6)])
    with pytest.raises(PolicyViolation, match=r"max\.partitions\.per\.topic, which is 5"):
        raise plan.results[0]


def test_a_topic_can_grow(desk: Any) -> None:
    before = desk.create("t", 2, {"retention.ms": "5"})
    desk.run(desk.topics.plan_partitions([PartitionsSpec("t", 4)]))
    after = desk.topics.by_name["t"]
    assert (after.partition_count, after.topic_id, after.config) == (4, before.topic_id, before.config)
    assert desk.restart().by_name["t"] == after


def test_new_partitions_may_be_assigned_to_this_node(desk: Any) -> None:
    desk.create("t", 1)
    desk.run(desk.topics.plan_partitions([PartitionsSpec("t", 3, [[1], [1]])]))
    assert desk.topics.by_name["t"].partition_count == 3


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (PartitionsSpec("none", 4), UnknownTopicOrPartition, "The topic 'none' does not exist"),
        (PartitionsSpec("t", 3), InvalidPartitions, r"Topic already has 3 partition\(s\)\."),
        (PartitionsSpec("t", 2), InvalidPartitions, r"has 3 partition\(s\); 2 would not be an increase\."),
        (PartitionsSpec("t", -1), InvalidPartitions, "would not be an increase"),
        (PartitionsSpec("t", 2**31 - 1), PolicyViolation, "max.partitions.per.topic"),
        (PartitionsSpec("t", 5, [[1]]), InvalidReplicaAssignment, r"only 1 assignment\(s\) were specified"),
        (PartitionsSpec("t", 4, [[9]]), InvalidReplicaAssignment, "broker 9"),
    ],
)
def test_growth_that_cannot_be_is_refused(
    desk: Any, spec: PartitionsSpec, error: type[BrokerError], message: str
) -> None:
    desk.create("t", 3)
    plan = desk.topics.plan_partitions([spec])
    assert plan.empty
    with pytest.raises(error, match=message):
        raise plan.results[0]


def test_one_request_adds_a_bounded_number_of_partitions(desk: Any) -> None:
    desk.create("a")
    desk.create("b")
    plan = desk.topics.plan_partitions([PartitionsSpec("a", 9_000), PartitionsSpec("b", 9_000)])
    assert [type(result) for result in plan.results] == [Topic, PolicyViolation]


def test_a_topic_grows_once_per_request(desk: Any) -> None:
    desk.create("a")
    plan = desk.topics.plan_partitions([PartitionsSpec("a", 2), PartitionsSpec("a", 3)])
    assert [type(result) for result in plan.results] == [InvalidRequest, InvalidRequest]


@pytest.mark.parametrize("configs", [{}, {"expiry.policy": "dlq"}], ids=["plain", "with-dead-letters"])
def test_the_work_grows_with_the_topics_of_a_request_and_no_faster(desk: Any, configs: dict[str, str | None]) -> None:
    def plan(count: int) -> Callable[[], object]:
        specs = [TopicSpec(f"topic-{number}", configs=configs) for number in range(count)]
        return lambda: desk.topics.plan_create(specs)

    assert growth(plan, 100) < 5


# -- in a cluster


def nodes(*records: NodeRecord) -> dict[int, NodeRecord]:
    return {record.node_id: record for record in records}


def node(number: int, rack: str | None = None, **state: bool) -> NodeRecord:
    return NodeRecord(number, ("PLAINTEXT://h:1",), rack, "life", **state)


THREE = nodes(node(1, "a"), node(2, "b"), node(3, "c"))


def made(desk: Any, spec: TopicSpec, known: dict[int, NodeRecord] = THREE) -> Topic:
    (topic,) = desk.topics.plan_create([spec], known).results
    assert isinstance(topic, Topic), topic
    return topic


def refused(desk: Any, spec: TopicSpec, known: dict[int, NodeRecord] = THREE) -> BrokerError:
    plan = desk.topics.plan_create([spec], known)
    assert plan.empty
    assert isinstance(plan.results[0], BrokerError)
    return plan.results[0]


def test_as_many_replicas_as_are_asked_for_lie_on_different_nodes(desk: Any) -> None:
    topic = made(desk, TopicSpec("t", 6, 2))
    for row in topic.partitions:
        assert len(set(row.replicas)) == 2
        assert (row.isr, row.leader) == (row.replicas, row.replicas[0])
    assert Counter(row.leader for row in topic.partitions) == {1: 2, 2: 2, 3: 2}


def test_a_node_that_is_fenced_is_no_member_of_a_new_partition(desk: Any) -> None:
    known = nodes(node(1), node(2, fenced=True))
    (row,) = made(desk, TopicSpec("t", 1, 2), known).partitions
    assert (set(row.replicas), row.isr, row.leader) == ({1, 2}, (1,), 1)
    (row,) = made(desk, TopicSpec("t", assignments=[(0, [2, 1])]), known).partitions
    assert (row.replicas, row.isr, row.leader) == ((2, 1), (1,), 1)


@pytest.mark.parametrize(
    ("spec", "known", "error", "message"),
    [
        (TopicSpec("t", 1, 4), THREE, InvalidReplicationFactor, r"of 4 cannot be reached because only 3 broker\(s\)"),
        (TopicSpec("t", 1, 1), nodes(node(1, stopping=True)), InvalidReplicationFactor, "fenced or in controlled"),
        (TopicSpec("t", assignments=[(0, [1, 4])]), THREE, InvalidReplicaAssignment, "broker 4, but no such broker"),
        (TopicSpec("t", assignments=[(0, [3, 1, 3])]), THREE, InvalidReplicaAssignment, "broker 3 more than once"),
        (
            TopicSpec("t", assignments=[(0, [1, 2]), (1, [3])]),
            THREE,
            InvalidReplicaAssignment,
            r"a partition with 1 replica\(s\), but .* previous partitions, which have 2 replica\(s\)",
        ),
        (
            TopicSpec("t", assignments=[(0, [1]), (1, [2])]),
            nodes(node(1), node(2, fenced=True)),
            InvalidReplicaAssignment,
            "for partition 1 are fenced or in controlled shutdown",
        ),
    ],
)
def test_what_a_cluster_cannot_hold_is_refused(
    desk: Any, spec: TopicSpec, known: dict[int, NodeRecord], error: type[BrokerError], message: str
) -> None:
    with pytest.raises(error, match=message):
        raise refused(desk, spec, known)


def in_cluster(desk: Any, **static: int) -> None:
    settings = BrokerSettings(
        {name.replace("_", "."): value for name, value in static.items()}, keys=cluster_keys(BROKER_KEYS)
    )
    desk.topics.settings = settings


def test_by_default_a_cluster_keeps_three_replicas_or_as_many_as_it_has_nodes(desk: Any) -> None:
    in_cluster(desk)
    five = nodes(*(node(number) for number in range(1, 6)))
    known = {1: nodes(node(1)), 2: nodes(node(1), node(2), node(3, fenced=True)), 3: five}
    for factor, each in known.items():
        topic = made(desk, TopicSpec("t"), each)
        assert len(topic.partitions[0].replicas) == factor
        assert topic.config["min.insync.replicas"] == 2
    internal = TopicSpec("o", factor_key="offsets.topic.replication.factor")
    assert len(made(desk, internal, five).partitions[0].replicas) == 3


def test_a_number_that_somebody_has_chosen_is_kept_to(desk: Any) -> None:
    in_cluster(desk, default_replication_factor=3)
    assert isinstance(refused(desk, TopicSpec("t"), nodes(node(1), node(2))), InvalidReplicationFactor)


def test_new_partitions_have_as_many_replicas_as_the_old_ones_and_go_where_fewest_are(desk: Any) -> None:
    desk.run(desk.topics.plan_create([TopicSpec("t", assignments=[(0, [1, 2])])], THREE))
    (grown,) = desk.topics.plan_partitions([PartitionsSpec("t", 3)], THREE).results
    assert isinstance(grown, Topic)
    assert Counter(node for row in grown.partitions for node in row.replicas) == {1: 2, 2: 2, 3: 2}
    assert {row.leader for row in grown.partitions} == {1, 2, 3}


def test_new_partitions_with_replicas_of_their_own_have_as_many_too(desk: Any) -> None:
    desk.run(desk.topics.plan_create([TopicSpec("t", assignments=[(0, [1, 2])])], THREE))
    (grown,) = desk.topics.plan_partitions([PartitionsSpec("t", 2, [[3, 1]])], THREE).results
    assert isinstance(grown, Topic)
    assert grown.partitions[1] == PartitionRecord.on(3, 1)
    (error,) = desk.topics.plan_partitions([PartitionsSpec("t", 2, [[3]])], THREE).results
    assert isinstance(error, InvalidReplicaAssignment)
    assert "not consistent with previous partitions" in str(error)
