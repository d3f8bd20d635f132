"""Administration through librdkafka's AdminClient."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from compat_tests.admin import admin_client
from compat_tests.clients import Record
from compat_tests.clients.confluent import Confluent
from compat_tests.waiting import eventually

MakeTopic = Callable[..., str]


def code_of(future: Any) -> int:
    """The error that the future fails with."""
    with pytest.raises(KafkaException) as failure:
        future.result(20)
    return int(failure.value.args[0].code())


def create_code(bootstrap: str, topic: NewTopic) -> int:
    (future,) = admin_client(bootstrap).create_topics([topic]).values()
    return code_of(future)


def partitions_of(bootstrap: str, topic: str) -> int:
    described = admin_client(bootstrap).describe_topics(TopicCollection([topic]))[topic].result(20)
    return len(described.partitions)


def test_create_list_describe_delete(bootstrap: str, topic_name: str) -> None:
    admin = admin_client(bootstrap)
    admin.create_topics([NewTopic(topic_name, 3, 1)])[topic_name].result(20)
    eventually(lambda: topic_name in admin.list_topics(timeout=10).topics, True)
    described = admin.describe_topics(TopicCollection([topic_name]))[topic_name].result(20)
    assert (described.name, described.is_internal) == (topic_name, False)
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    assert all(partition.leader is not None for partition in described.partitions)
    admin.delete_topics([topic_name])[topic_name].result(20)
    eventually(lambda: topic_name in admin.list_topics(timeout=10).topics, False)


def test_more_partitions(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    admin = admin_client(bootstrap)
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(20)
    eventually(lambda: partitions_of(bootstrap, topic), 4)
    fewer = admin.create_partitions([NewPartitions(topic, 2)])[topic]
    assert code_of(fewer) == KafkaError.INVALID_PARTITIONS


def test_refusals(bootstrap: str, make_topic: MakeTopic, topic_name: str) -> None:
    existing = make_topic()
    assert create_code(bootstrap, NewTopic(existing, 1, 1)) == KafkaError.TOPIC_ALREADY_EXISTS
    assert create_code(bootstrap, NewTopic("no spaces", 1, 1)) == KafkaError.TOPIC_EXCEPTION
    assert create_code(bootstrap, NewTopic(topic_name, 1, 5)) == KafkaError.INVALID_REPLICATION_FACTOR
    assert create_code(bootstrap, NewTopic(topic_name, 0, 1)) == KafkaError.INVALID_PARTITIONS
    bad = NewTopic(topic_name, 1, 1, config={"retention.ms": "soon"})
    assert create_code(bootstrap, bad) == KafkaError.INVALID_CONFIG
    (future,) = admin_client(bootstrap).delete_topics([topic_name]).values()
    assert code_of(future) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_validate_only(bootstrap: str, topic_name: str) -> None:
    admin = admin_client(bootstrap)
    admin.create_topics([NewTopic(topic_name, 3, 1)], validate_only=True)[topic_name].result(20)
    assert topic_name not in admin.list_topics(timeout=10).topics


def described(bootstrap: str, resource: ConfigResource) -> dict[str, Any]:
    return dict(admin_client(bootstrap).describe_configs([resource])[resource].result(20))


def test_describe_topic_configs(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms=5000)
    configs = described(bootstrap, ConfigResource(ResourceType.TOPIC, topic))
    own, default = configs["retention.ms"], configs["max.message.bytes"]
    assert (own.value, own.source, own.is_default) == ("5000", ConfigSource.DYNAMIC_TOPIC_CONFIG.value, False)
    assert (default.value, default.source) == ("1048588", ConfigSource.DEFAULT_CONFIG.value)
    assert default.is_default
    assert "message.max.bytes" in default.synonyms


def test_describe_broker_configs(bootstrap: str) -> None:
    admin = admin_client(bootstrap)
    (node,) = admin.list_topics(timeout=10).brokers
    configs = described(bootstrap, ConfigResource(ResourceType.BROKER, str(node)))
    assert configs["num.partitions"].value == "1"
    assert configs["num.partitions"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert configs["num.partitions"].is_read_only


def test_incremental_alter_configs(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms=5000)
    entries = [
        ConfigEntry("segment.ms", "777000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin_client(bootstrap).incremental_alter_configs([resource])[resource].result(20)

    def look() -> list[str]:
        configs = described(bootstrap, ConfigResource(ResourceType.TOPIC, topic))
        return [configs[key].value for key in ("segment.ms", "retention.ms", "cleanup.policy")]

    eventually(look, ["777000", "604800000", "delete,compact"])


def test_alter_configs_replaces(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms=5000)
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.ms": "777000"})
    admin_client(bootstrap).alter_configs([resource])[resource].result(20)

    def look() -> list[str]:
        configs = described(bootstrap, ConfigResource(ResourceType.TOPIC, topic))
        return [configs[key].value for key in ("segment.ms", "retention.ms")]

    eventually(look, ["777000", "604800000"])


def test_configs_refused(bootstrap: str, make_topic: MakeTopic, topic_name: str) -> None:
    admin = admin_client(bootstrap)
    for topic, key, code in (
        (make_topic(), "no.such.key", KafkaError.INVALID_CONFIG),
        (topic_name, "segment.ms", KafkaError.UNKNOWN_TOPIC_OR_PART),
    ):
        entry = ConfigEntry(key, "777000", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        assert code_of(admin.incremental_alter_configs([resource])[resource]) == code
    resource = ConfigResource(ResourceType.TOPIC, topic_name)
    assert code_of(admin.describe_configs([resource])[resource]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_describe_cluster(bootstrap: str) -> None:
    cluster = admin_client(bootstrap).describe_cluster(include_authorized_operations=True).result(20)
    (node,) = cluster.nodes
    assert f"{node.host}:{node.port}" == bootstrap
    assert cluster.controller.id == node.id
    assert cluster.cluster_id
    assert cluster.authorized_operations


def test_list_offsets(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stamps = [1_700_000_000_000, 1_700_000_002_000, 1_700_000_001_000]
    Confluent().produce(bootstrap, topic, [Record(b"x", timestamp_ms=stamp) for stamp in stamps])
    where = TopicPartition(topic, 0)
    for spec, offset in (
        (OffsetSpec.earliest(), 0),
        (OffsetSpec.latest(), 3),
        (OffsetSpec.max_timestamp(), 1),
        (OffsetSpec.for_timestamp(1_700_000_000_500), 1),
        (OffsetSpec.for_timestamp(1_800_000_000_000), -1),
    ):
        assert admin_client(bootstrap).list_offsets({where: spec})[where].result(20).offset == offset


def test_delete_records(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    Confluent().produce(bootstrap, topic, [Record(b"x")] * 5)
    admin = admin_client(bootstrap)
    where = TopicPartition(topic, 0, 3)
    assert admin.delete_records([where])[where].result(20).low_watermark == 3
    beyond = TopicPartition(topic, 0, 9)
    assert code_of(admin.delete_records([beyond])[beyond]) == KafkaError.OFFSET_OUT_OF_RANGE
