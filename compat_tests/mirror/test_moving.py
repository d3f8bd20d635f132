"""MirrorMaker 2 moves topics from Apache Kafka to Tidegate and back: records, settings and the positions of groups."""

import os
from collections.abc import Iterator

import pytest
from attrs import frozen
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource

from compat_tests import admin, brokers
from compat_tests.mirror.mirroring import Mirror, mirror, on_one_node
from compat_tests.waiting import eventually
from tools.reference.broker import reference_kafka

PARTITIONS = 3
RECORDS = 300
PATIENCE_S = 150.0
CONFIGS = {"retention.ms": "1234567", "max.message.bytes": "2000000"}

pytestmark = [
    pytest.mark.skipif("MIRROR_SLOW" not in os.environ, reason="takes a minute: MIRROR_SLOW=1 runs it"),
    pytest.mark.skipif(brokers.target() != "tidegate", reason="Kafka is the other side already"),
    pytest.mark.timeout(400),
]


@frozen
class Sides:
    """Both brokers, and what copies between them."""

    kafka: str
    tidegate: str
    mirror: Mirror


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    with reference_kafka(brokers.SETTINGS, heap="384m") as reference, brokers.broker() as tidegate:
        kafka = reference.bootstrap
        for bootstrap, topic in ((kafka, "orders"), (tidegate, "payments")):
            admin.create_topic(bootstrap, topic, PARTITIONS, CONFIGS)
            produce(bootstrap, topic, range(RECORDS))
            assert len(read(bootstrap, topic, RECORDS)) == RECORDS
        settings = {
            **on_one_node(),
            "kafka.bootstrap.servers": kafka,
            "tidegate.bootstrap.servers": tidegate,
            "tidegate->kafka.enabled": "true",
        }
        with mirror(settings) as running:
            yield Sides(kafka, tidegate, running)


@pytest.mark.parametrize("way", ["to Tidegate", "back to Kafka"])
def test_a_topic_arrives_and_its_group_goes_on_where_it_was(sides: Sides, way: str) -> None:
    there = way == "to Tidegate"
    source, target = (sides.kafka, sides.tidegate) if there else (sides.tidegate, sides.kafka)
    topic = "orders" if there else "payments"
    try:
        eventually(lambda: sum(ends(target, topic)), RECORDS, PATIENCE_S)
        eventually(lambda: committed(target, topic), committed(source, topic), PATIENCE_S)
    except AssertionError as error:
        pytest.fail(f"{error}\n{sides.mirror.report()}")
    assert configs(target, topic) == CONFIGS

    produce(source, topic, range(RECORDS, RECORDS + 30))
    eventually(lambda: sum(ends(target, topic)), RECORDS + 30, PATIENCE_S)
    found = read(target, topic, 30)
    assert sorted(int(message.key() or b"") for message in found) == list(range(RECORDS, RECORDS + 30))
    for message in found:
        number = int(message.key() or b"")
        assert (message.value(), message.timestamp()[1]) == (b"value %d" % number, 1_700_000_000_000 + number)
        assert message.headers() == [("number", b"%d" % number)]


def produce(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in numbers:
        headers: list[tuple[str, str | bytes | None]] = [("number", b"%d" % number)]
        stamp = 1_700_000_000_000 + number
        producer.produce(topic, b"value %d" % number, key=str(number), headers=headers, timestamp=stamp)
    assert producer.flush(30) == 0


def read(bootstrap: str, topic: str, count: int) -> list[Message]:
    """As the group `billing`, from where it is; what was read is committed."""
    member = consumer(bootstrap)
    member.subscribe([topic])
    found: list[Message] = []

    def look() -> int:
        found.extend(message for message in member.consume(count, 0.5) if message.error() is None)
        return len(found)

    eventually(look, count, 60)
    member.commit(asynchronous=False)
    member.close()
    return found


def consumer(bootstrap: str) -> Consumer:
    settings: dict[str, str | int | bool] = {
        "bootstrap.servers": bootstrap,
        "group.id": "billing",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    return Consumer(settings)


def ends(bootstrap: str, topic: str) -> list[int]:
    """Where the partitions end; nothing while the topic is not there."""
    looking = consumer(bootstrap)
    try:
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return [looking.get_watermark_offsets(place, 10)[1] for place in places]
    except KafkaException:
        return []
    finally:
        looking.close()


def committed(bootstrap: str, topic: str) -> list[int]:
    looking = consumer(bootstrap)
    try:
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return [place.offset for place in looking.committed(places, 10)]
    finally:
        looking.close()


def configs(bootstrap: str, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    found = admin.admin_client(bootstrap).describe_configs([resource])[resource].result(10)
    return {key: found[key].value for key in CONFIGS}
