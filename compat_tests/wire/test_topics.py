"""CreateTopics, CreatePartitions, DeleteTopics, DeleteRecords: which refusal bears which code."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from compat_tests.waiting import eventually
from compat_tests.wire.batches import build
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import (
    NO_TOPIC_ID,
    fetched,
    list_offsets,
    metadata_topic,
    produce,
    produced,
    topic_id,
    versions_of,
)

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, TOPIC_ALREADY_EXISTS = 1, 3, 17, 36
INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT = 37, 38, 39
INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION, UNKNOWN_TOPIC_ID = 40, 42, 44, 100
NOBODY = 4711
MakeTopic = Callable[..., str]


def wanted(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: Sequence[tuple[int, list[int]]] = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> Any:
    topic = CreateTopicsRequest.CreatableTopic
    return topic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            topic.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignments
        ],
        configs=[topic.CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )


def create(bootstrap: str, *topics: Any, version: int = 7, validate_only: bool = False) -> list[Any]:
    request = CreateTopicsRequest(version=version, topics=list(topics), timeout_ms=10_000, validate_only=validate_only)
    return list(ask(bootstrap, request).topics)


def code_of(bootstrap: str, topic: Any) -> int:
    (answer,) = create(bootstrap, topic)
    if answer.error_code:
        assert answer.error_message
        assert (answer.num_partitions, answer.replication_factor, answer.configs) == (-1, -1, [])
    return int(answer.error_code)


def this_node(bootstrap: str) -> int:
    return int(ask(bootstrap, MetadataRequest(version=1, topics=[])).brokers[0].node_id)


def described(bootstrap: str, name: str) -> Any:
    request = MetadataRequest(version=12, topics=[metadata_topic(name)], allow_auto_topic_creation=False)
    return ask(bootstrap, request).topics[0]


def test_every_version_creates(bootstrap: str, topic_name: str) -> None:
    for version in range(2, versions_of(bootstrap)[19][1] + 1):
        (answer,) = create(bootstrap, wanted(f"{topic_name}-{version}", 3), version=version)
        assert (answer.error_code, answer.name) == (0, f"{topic_name}-{version}")
        eventually(lambda: len(described(bootstrap, answer.name).partitions), 3)  # noqa: B023


def test_the_answer_tells_what_was_made(bootstrap: str, topic_name: str) -> None:
    configs = [("retention.ms", "1000"), ("cleanup.policy", "compact,delete")]
    (answer,) = create(bootstrap, wanted(topic_name, 3, configs=configs))
    assert (answer.num_partitions, answer.replication_factor) == (3, 1)
    eventually(lambda: str(described(bootstrap, topic_name).topic_id), str(answer.topic_id))
    told = {config.name: (config.value, config.config_source) for config in answer.configs}
    assert told["retention.ms"] == ("1000", 1)
    assert told["cleanup.policy"] == ("compact,delete", 1)
    assert told["max.message.bytes"] == ("1048588", 5)


def test_defaults_for_partitions_and_replicas(bootstrap: str, topic_name: str) -> None:
    (answer,) = create(bootstrap, wanted(topic_name, -1, -1))
    assert (answer.error_code, answer.num_partitions, answer.replication_factor) == (0, 1, 1)


def test_validate_only_makes_nothing(bootstrap: str, topic_name: str) -> None:
    (answer,) = create(bootstrap, wanted(topic_name, 3), validate_only=True)
    assert (answer.error_code, answer.num_partitions) == (0, 3)
    assert described(bootstrap, topic_name).error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_an_existing_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    assert code_of(bootstrap, wanted(make_topic())) == TOPIC_ALREADY_EXISTS


def test_one_name_twice_makes_neither(bootstrap: str, topic_name: str) -> None:
    assert [answer.error_code for answer in create(bootstrap, wanted(topic_name), wanted(topic_name))] == [
        INVALID_REQUEST
    ]
    assert described(bootstrap, topic_name).error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_good_ones_beside_bad_ones_are_made(bootstrap: str, topic_name: str) -> None:
    answers = create(bootstrap, wanted(topic_name), wanted("no spaces"))
    assert {answer.name: answer.error_code for answer in answers} == {
        topic_name: 0,
        "no spaces": INVALID_TOPIC,
    }


@pytest.mark.parametrize("name", ["", "no spaces", ".", "..", "x" * 250, "a/b", "é", "a:b"])
def test_names_that_are_not_legal(bootstrap: str, name: str) -> None:
    assert code_of(bootstrap, wanted(name)) == INVALID_TOPIC


def test_a_name_of_the_greatest_length(bootstrap: str) -> None:
    assert code_of(bootstrap, wanted(uuid.uuid4().hex + "y" * (249 - 32))) == 0


def test_names_that_differ_by_dot_and_underscore_alone_collide(bootstrap: str, topic_name: str) -> None:
    name = topic_name.replace("_", "-")
    assert code_of(bootstrap, wanted(f"{name}.a")) == 0
    assert code_of(bootstrap, wanted(f"{name}_a")) == INVALID_TOPIC


@pytest.mark.parametrize("partitions", [0, -2])
def test_numbers_of_partitions(bootstrap: str, topic_name: str, partitions: int) -> None:
    assert code_of(bootstrap, wanted(topic_name, partitions)) == INVALID_PARTITIONS


@pytest.mark.parametrize("replicas", [2, 0, -2])
def test_numbers_of_replicas(bootstrap: str, topic_name: str, replicas: int) -> None:
    assert code_of(bootstrap, wanted(topic_name, 1, replicas)) == INVALID_REPLICATION_FACTOR


def test_manual_assignment(bootstrap: str, topic_name: str) -> None:
    node = this_node(bootstrap)

    def assigned(*assignments: tuple[int, list[int]]) -> int:
        return code_of(bootstrap, wanted(topic_name, -1, -1, assignments))

    assert assigned((0, [NOBODY])) == INVALID_REPLICA_ASSIGNMENT
    assert assigned((0, [node, node])) == INVALID_REPLICA_ASSIGNMENT
    assert assigned((0, [node]), (2, [node])) == INVALID_REPLICA_ASSIGNMENT
    assert code_of(bootstrap, wanted(topic_name, 1, 1, [(0, [node])])) == INVALID_REQUEST
    assert assigned((0, [node]), (1, [node])) == 0
    eventually(lambda: len(described(bootstrap, topic_name).partitions), 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such.key", "1"),
        ("retention.ms", "abc"),
        ("retention.ms", None),
        ("segment.bytes", "1"),
        ("max.message.bytes", "-1"),
        ("cleanup.policy", "wash"),
        ("compression.type", "arc"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("message.timestamp.type", "Tomorrow"),
        ("preallocate", "maybe"),
    ],
)
def test_configs_that_are_not_taken(bootstrap: str, topic_name: str, key: str, value: str | None) -> None:
    assert code_of(bootstrap, wanted(topic_name, configs=[(key, value)])) == INVALID_CONFIG
    assert described(bootstrap, topic_name).error_code == UNKNOWN_TOPIC_OR_PARTITION


def add(bootstrap: str, name: str, count: int, brokers: list[list[int]] | None = None, **options: Any) -> int:
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    assignments = None
    if brokers is not None:
        assignments = [topic.CreatePartitionsAssignment(broker_ids=nodes) for nodes in brokers]
    request = CreatePartitionsRequest(
        version=options.get("version", 3),
        topics=[topic(name=name, count=count, assignments=assignments)],
        timeout_ms=10_000,
        validate_only=options.get("validate_only", False),
    )
    (answer,) = ask(bootstrap, request).results
    assert answer.name == name
    return int(answer.error_code)


def test_more_partitions(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for version in range(versions_of(bootstrap)[37][1] + 1):
        assert add(bootstrap, topic, version + 2, version=version) == 0
    eventually(lambda: len(described(bootstrap, topic).partitions), 5)


@pytest.mark.parametrize("count", [3, 2, 0, -1])
def test_not_more_partitions(bootstrap: str, make_topic: MakeTopic, count: int) -> None:
    assert add(bootstrap, make_topic(3), count) == INVALID_PARTITIONS


def test_more_partitions_refused(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert add(bootstrap, "no-such-topic", 3) == UNKNOWN_TOPIC_OR_PARTITION
    assert add(bootstrap, topic, 3, [[this_node(bootstrap)]]) == INVALID_REPLICA_ASSIGNMENT
    assert add(bootstrap, topic, 2, [[NOBODY]]) == INVALID_REPLICA_ASSIGNMENT
    assert add(bootstrap, topic, 7, validate_only=True) == 0
    assert add(bootstrap, topic, 2, [[this_node(bootstrap)]]) == 0
    eventually(lambda: len(described(bootstrap, topic).partitions), 2)


def delete(bootstrap: str, name: str | None, identity: str = NO_TOPIC_ID) -> int:
    topic = DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=identity)
    (answer,) = ask(bootstrap, DeleteTopicsRequest(version=6, topics=[topic], timeout_ms=10_000)).responses
    return int(answer.error_code)


def test_delete_by_name_and_by_id(bootstrap: str, make_topic: MakeTopic) -> None:
    by_name, by_id = make_topic(), make_topic()
    assert delete(bootstrap, by_name) == 0
    assert delete(bootstrap, None, topic_id(bootstrap, by_id)) == 0
    for topic in (by_name, by_id):
        eventually(lambda: described(bootstrap, topic).error_code, UNKNOWN_TOPIC_OR_PARTITION)  # noqa: B023
        assert delete(bootstrap, topic) == UNKNOWN_TOPIC_OR_PARTITION


def test_delete_refused(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert delete(bootstrap, "no-such-topic") == UNKNOWN_TOPIC_OR_PARTITION
    assert delete(bootstrap, None, str(uuid.uuid4())) == UNKNOWN_TOPIC_ID
    assert delete(bootstrap, topic, topic_id(bootstrap, topic)) == INVALID_REQUEST
    assert delete(bootstrap, None) == INVALID_REQUEST
    assert described(bootstrap, topic).error_code == 0


@pytest.mark.parametrize("version", range(1, 6))
def test_delete_in_old_versions(bootstrap: str, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic()
    names = [topic, "no-such-topic"]
    answer = ask(bootstrap, DeleteTopicsRequest(version=version, topic_names=names, timeout_ms=10_000))
    found = {result.name: result.error_code for result in answer.responses}
    assert found == {topic: 0, "no-such-topic": UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_made_again_is_empty(bootstrap: str, topic_name: str) -> None:
    create(bootstrap, wanted(topic_name, configs=[("retention.ms", "123456")]))
    eventually(lambda: produced(bootstrap, produce(topic_name, build([b"old"]))).error_code, 0)
    assert delete(bootstrap, topic_name) == 0
    (answer,) = create(bootstrap, wanted(topic_name))
    assert answer.error_code == 0
    configs = {config.name: config.config_source for config in answer.configs}
    assert configs["retention.ms"] != 1
    eventually(lambda: produced(bootstrap, produce(topic_name, build([b"new"]))).base_offset, 0)


def cut(bootstrap: str, name: str, offset: int, partition: int = 0, version: int = 2) -> tuple[int, int]:
    topic = DeleteRecordsRequest.DeleteRecordsTopic
    asked = topic.DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(version=version, topics=[topic(name=name, partitions=[asked])], timeout_ms=10_000)
    answer = ask(bootstrap, request).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


def test_delete_records(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert produced(bootstrap, produce(topic, build([b"a", b"b", b"c", b"d"]))).error_code == 0
    assert cut(bootstrap, topic, 2, version=0) == (0, 2)
    assert cut(bootstrap, topic, 1) == (0, 2), "an offset below the start changes nothing"
    earliest = ask(bootstrap, list_offsets(topic, -2)).topics[0].partitions[0]
    assert earliest.offset == 2
    assert fetched(bootstrap, topic, 1).error_code == OFFSET_OUT_OF_RANGE
    read = fetched(bootstrap, topic, 2)
    assert (read.error_code, read.log_start_offset) == (0, 2)
    assert produced(bootstrap, produce(topic, build([b"e"]))).log_start_offset == 2
    assert cut(bootstrap, topic, -1) == (0, 5), "-1 means all"
    assert produced(bootstrap, produce(topic, build([b"f"]))).base_offset == 5


def test_delete_records_refused(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert produced(bootstrap, produce(topic, build([b"a"]))).error_code == 0
    assert cut(bootstrap, topic, 7) == (OFFSET_OUT_OF_RANGE, -1)
    assert cut(bootstrap, topic, -5) == (OFFSET_OUT_OF_RANGE, -1)
    assert cut(bootstrap, topic, 0, partition=9) == (UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert cut(bootstrap, "no-such-topic", 0) == (UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert cut(bootstrap, make_topic(cleanup_policy="compact"), 0) == (POLICY_VIOLATION, -1)
