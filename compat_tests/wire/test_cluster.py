"""DescribeCluster, DescribeTopicPartitions, DescribeLogDirs: what user interfaces and the Java admin ask."""

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import (
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
)

from compat_tests.wire.batches import build
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import produce, produced, topic_id, versions_of
from compat_tests.wire.test_topics import this_node

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, INVALID_REQUEST, MISMATCHED_ENDPOINT_TYPE = 3, 17, 42, 114
# Read, write, create, delete, alter, describe, describe configs, alter configs: as bits.
ALL_TOPIC_OPERATIONS = 3576
MakeTopic = Callable[..., str]


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(bootstrap: str, version: int) -> None:
    request = DescribeClusterRequest(version=version, include_cluster_authorized_operations=True)
    answer = ask(bootstrap, request)
    (broker,) = answer.brokers
    assert f"{broker.host}:{broker.port}" == bootstrap
    assert (answer.error_code, answer.controller_id) == (0, broker.broker_id)
    assert answer.cluster_id
    assert set(answer.authorized_operations) == {5, 7, 8, 9, 10, 11, 12}


def test_describe_cluster_of_controllers_is_asked_of_a_broker(bootstrap: str) -> None:
    answer = ask(bootstrap, DescribeClusterRequest(version=1, endpoint_type=2))
    assert (answer.error_code, answer.brokers) == (MISMATCHED_ENDPOINT_TYPE, [])


def partitions_of(bootstrap: str, names: list[str], limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    asked = DescribeTopicPartitionsRequest
    where = None if cursor is None else asked.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    topics = [asked.TopicRequest(name=name) for name in names]
    return ask(bootstrap, asked(version=0, topics=topics, response_partition_limit=limit, cursor=where))


def test_describe_topic_partitions(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    answer = partitions_of(bootstrap, [topic])
    assert answer.next_cursor is None
    (found,) = answer.topics
    assert (found.error_code, found.name, str(found.topic_id)) == (0, topic, topic_id(bootstrap, topic))
    assert found.topic_authorized_operations == ALL_TOPIC_OPERATIONS
    node = this_node(bootstrap)
    for index, partition in enumerate(found.partitions):
        assert (partition.partition_index, partition.leader_id, partition.leader_epoch) == (index, node, 0)
        assert partition.replica_nodes == partition.isr_nodes == [node]
        assert partition.offline_replicas == []


def test_describe_topic_partitions_that_are_not_there(bootstrap: str) -> None:
    answer = partitions_of(bootstrap, ["no-such-topic", "no spaces"])
    found = {topic.name: topic.error_code for topic in answer.topics}
    assert found == {"no-such-topic": UNKNOWN_TOPIC_OR_PARTITION, "no spaces": INVALID_TOPIC}


def test_topics_are_described_in_order_and_page_by_page(bootstrap: str, make_topic: MakeTopic) -> None:
    topics = sorted([make_topic(3), make_topic(3)], reverse=True)
    seen, cursor = [], None
    for _ in range(3):
        answer = partitions_of(bootstrap, topics, 2, cursor)
        for topic in answer.topics:
            seen += [(topic.name, partition.partition_index) for partition in topic.partitions]
        after = answer.next_cursor
        cursor = None if after is None else (after.topic_name, after.partition_index)
    assert seen == [(topic, index) for topic in sorted(topics) for index in range(3)]
    assert cursor is None


def test_without_names_all_topics_are_described(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert topic in [found.name for found in partitions_of(bootstrap, []).topics]


def test_a_cursor_before_the_first_partition(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    (found,) = partitions_of(bootstrap, [topic], 2, (topic, -3)).topics
    assert found.error_code == INVALID_REQUEST


def log_dirs(bootstrap: str, names: dict[str, list[int]] | None, version: int = 4) -> Any:
    topics = None
    if names is not None:
        asked = DescribeLogDirsRequest.DescribableLogDirTopic
        topics = [asked(topic=name, partitions=partitions) for name, partitions in names.items()]
    answer = ask(bootstrap, DescribeLogDirsRequest(version=version, topics=topics))
    assert answer.error_code == 0
    (found,) = answer.results
    assert found.error_code == 0
    assert found.log_dir.startswith("/")
    return found


def test_every_version_describes_log_dirs(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    batch = build([b"x" * 1000])
    assert produced(bootstrap, produce(topic, batch)).error_code == 0
    for version in range(1, versions_of(bootstrap)[35][1] + 1):
        found = log_dirs(bootstrap, {topic: [0, 1]}, version)
        (described,) = found.topics
        sizes = {part.partition_index: part.partition_size for part in described.partitions}
        assert sizes == {0: len(batch), 1: 0}
        assert {(part.offset_lag, part.is_future_key) for part in described.partitions} == {(0, False)}
        if version >= 4:
            assert 0 < found.usable_bytes <= found.total_bytes


def test_log_dirs_of_all_and_of_none(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert topic in [found.name for found in log_dirs(bootstrap, None).topics]
    assert log_dirs(bootstrap, {}).topics == []
    assert log_dirs(bootstrap, {"no-such-topic": [0]}).topics == []
