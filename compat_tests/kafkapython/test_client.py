"""What kafka-python's producer, consumer and admin client do beyond the scenarios that all clients share."""

from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from compat_tests.clients import Record
from compat_tests.clients.kafkapython import KafkaPython, consumer_for, producer_for, read
from compat_tests.waiting import eventually

BASE_MS = 1_700_000_000_000
MakeTopic = Callable[..., str]


@pytest.fixture
def topic(bootstrap: str, make_topic: MakeTopic) -> str:
    """Ten records, a second apart."""
    name = make_topic()
    records = [Record(f"{number}".encode(), timestamp_ms=BASE_MS + 1000 * number) for number in range(10)]
    KafkaPython().produce(bootstrap, name, records)
    return name


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[KafkaConsumer]:
    consumer = consumer_for(bootstrap)
    yield consumer
    consumer.close()


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield admin
    admin.close()


def test_seek(consumer: KafkaConsumer, topic: str) -> None:
    where = TopicPartition(topic, 0)
    consumer.assign([where])
    for offset in (7, 2, 9):
        consumer.seek(where, offset)
        assert [record.offset for record in read(consumer, 10 - offset)] == list(range(offset, 10))
    assert consumer.position(where) == 10
    consumer.seek_to_beginning(where)
    assert consumer.position(where) == 0


def test_ends_and_times(consumer: KafkaConsumer, topic: str) -> None:
    where = TopicPartition(topic, 0)
    assert consumer.beginning_offsets([where]) == {where: 0}
    assert consumer.end_offsets([where]) == {where: 10}
    found = consumer.offsets_for_times({where: BASE_MS + 3500})[where]
    assert (found.offset, found.timestamp) == (4, BASE_MS + 4000)
    assert consumer.offsets_for_times({where: BASE_MS + 99_000}) == {where: None}
    assert consumer.partitions_for_topic(topic) == {0}


@pytest.mark.parametrize(("policy", "first"), [("earliest", 4), ("latest", 10)])
def test_out_of_range(bootstrap: str, admin: KafkaAdminClient, topic: str, policy: str, first: int) -> None:
    where = TopicPartition(topic, 0)
    admin.delete_records({where: 4})
    consumer = consumer_for(bootstrap, auto_offset_reset=policy)
    try:
        consumer.assign([where])
        consumer.seek(where, 1)
        if policy == "latest":
            assert read(consumer, 1, seconds=1.5) == []
            KafkaPython().produce(bootstrap, topic, [Record(b"new")])
        assert read(consumer, 1)[0].offset == first
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("configs", "record", "error"),
    [
        ({"max_message_bytes": 1000}, Record(b"x" * 1000), kafka_errors.MessageSizeTooLargeError),
        ({"cleanup_policy": "compact"}, Record(b"x"), kafka_errors.InvalidRecordError),
        ({}, Record(b"x", timestamp_ms=32_503_680_000_000), kafka_errors.InvalidTimestampError),
    ],
)
def test_records_refused(
    bootstrap: str,
    make_topic: MakeTopic,
    configs: dict[str, object],
    record: Record,
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        KafkaPython().produce(bootstrap, make_topic(**configs), [record])


def test_a_topic_is_made_by_producing(bootstrap: str, topic_name: str) -> None:
    KafkaPython().produce(bootstrap, topic_name, [Record(b"x")])


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(bootstrap: str, make_topic: MakeTopic, acks: int | str) -> None:
    topic = make_topic()
    producer = producer_for(bootstrap, acks=acks, enable_idempotence=False)
    sent = producer.send(topic, b"x")
    producer.flush()
    sent.get(10)
    producer.close()
    assert [record.value for record in KafkaPython().consume(bootstrap, topic, 1)] == [b"x"]


def test_create_describe_delete(admin: KafkaAdminClient, topic_name: str) -> None:
    admin.create_topics([NewTopic(topic_name, 3, 1)])
    eventually(lambda: topic_name in admin.list_topics(), True)
    (described,) = admin.describe_topics([topic_name])
    assert described["name"] == topic_name
    assert [partition["partition_index"] for partition in described["partitions"]] == [0, 1, 2]
    admin.create_partitions({topic_name: 5})
    eventually(lambda: len(admin.describe_topics([topic_name])[0]["partitions"]), 5)
    admin.delete_topics([topic_name])
    eventually(lambda: topic_name in admin.list_topics(), False)


@pytest.mark.parametrize(
    ("name", "partitions", "replicas", "error"),
    [
        ("no spaces", 1, 1, kafka_errors.InvalidTopicError),
        (None, 0, 1, kafka_errors.InvalidPartitionsError),
        (None, 1, 5, kafka_errors.InvalidReplicationFactorError),
    ],
)
def test_create_refused(
    admin: KafkaAdminClient, topic_name: str, name: str | None, partitions: int, replicas: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        admin.create_topics([NewTopic(name or topic_name, partitions, replicas)])


def test_existing_and_missing(admin: KafkaAdminClient, topic: str, topic_name: str) -> None:
    with pytest.raises(kafka_errors.TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 1, 1)])
    with pytest.raises(kafka_errors.UnknownTopicOrPartitionError):
        admin.delete_topics([topic_name])
    with pytest.raises(kafka_errors.InvalidConfigurationError):
        admin.create_topics([NewTopic(topic_name, 1, 1, topic_configs={"retention.ms": "soon"})])


def test_configs(admin: KafkaAdminClient, topic: str) -> None:
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"segment.ms": "777000"})])

    def look() -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        described = admin.describe_configs([resource], config_filter="all")
        return str(described["topic"][topic]["segment.ms"]["value"])

    eventually(look, "777000")


def test_describe_cluster_and_log_dirs(admin: KafkaAdminClient, bootstrap: str, topic: str) -> None:
    cluster = admin.describe_cluster()
    (broker,) = cluster["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
    assert cluster["controller_id"] == broker["broker_id"]
    assert topic in str(admin.describe_log_dirs())


def test_delete_records(admin: KafkaAdminClient, consumer: KafkaConsumer, topic: str) -> None:
    where = TopicPartition(topic, 0)
    admin.delete_records({where: 4})
    assert consumer.beginning_offsets([where]) == {where: 4}
