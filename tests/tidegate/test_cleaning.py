"""Retention and compaction in a running broker, through a real client."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tidegate import testing
from tidegate.testing import RunningBroker

BRISK = {
    "log.initial.task.delay.ms": "0",
    "log.cleaner.backoff.ms": "20",
    "log.retention.check.interval.ms": "20",
}
RECORDS = 20_000
KEYS = 100
SEGMENT_BYTES = 1 << 20


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with testing.broker(BRISK) as running:
        yield running


def make_topic(broker: RunningBroker, name: str, **config: str) -> None:
    settings = {key.replace("_", "."): value for key, value in config.items()} | {"segment.bytes": str(SEGMENT_BYTES)}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1, config=settings)])[name].result(10)


def fill(broker: RunningBroker, topic: str, *, codec: str = "none", count: int = RECORDS) -> None:
    """Numbered records over the keys, in turn; the last KEYS of them are the latest."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 5})
    for number in range(count):
        producer.produce(topic, key=f"key-{number % KEYS}", value=f"{number} {random.randbytes(100).hex()}")
        producer.poll(0)
    assert producer.flush(20) == 0


def fill_in_transactions(broker: RunningBroker, topic: str, *, size: int) -> None:
    """The same, `size` records to a transaction; every other one is aborted, the last one too."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "linger.ms": 5})
    producer.init_transactions(20)
    for first in range(0, RECORDS, size):
        producer.begin_transaction()
        for number in range(first, first + size):
            producer.produce(topic, key=f"key-{number % KEYS}", value=f"{number} {random.randbytes(100).hex()}")
            producer.poll(0)
        assert producer.flush(20) == 0
        if first // size % 2:
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)


def read(broker: RunningBroker, topic: str) -> list[Message]:
    # Retention may move the start between the question and the fetch: what is left of the topic is meant then.
    settings = {"group.id": "g", "enable.partition.eof": True, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, **settings})
    try:
        start, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
        consumer.assign([TopicPartition(topic, 0, start)])
        found: list[Message] = []
        deadline = time.monotonic() + 20
        while start < end and time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error():
                break
            if message is not None:
                found.append(message)
        return found
    finally:
        consumer.close()


def start_offset(broker: RunningBroker, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)[0])
    finally:
        consumer.close()


def eventually(condition: Callable[[], bool], deadline_s: float = 20) -> None:
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def stored_bytes(broker: RunningBroker, topic: str = "*") -> int:
    total = 0
    for path in broker.data_dir.glob(f"topics/{topic}/0/*.log"):
        with contextlib.suppress(FileNotFoundError):  # removed since it was listed
            total += path.stat().st_size
    return total


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_compacted_topic_keeps_the_last_value_of_every_key(codec: str) -> None:
    with testing.broker(BRISK) as broker:
        make_topic(broker, "t", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
        fill(broker, "t", codec=codec)
        eventually(lambda: stored_bytes(broker) < 1.2 * SEGMENT_BYTES)
        check_compacted(read(broker, "t"))
        broker.restart()
        check_compacted(read(broker, "t"))


def check_compacted(found: list[Message]) -> None:
    assert len(found) < RECORDS / 2
    offsets = [message.offset() for message in found]
    assert offsets == sorted(offsets)
    assert all(int((message.value() or b"").split()[0]) == message.offset() for message in found)
    last = {message.key(): message.offset() for message in found}
    assert last == {f"key-{number % KEYS}".encode(): number for number in range(RECORDS - KEYS, RECORDS)}


def test_records_past_their_time_go_and_new_ones_follow_on(broker: RunningBroker) -> None:
    make_topic(broker, "brief", retention_ms="300")
    fill(broker, "brief", count=1000)
    eventually(lambda: start_offset(broker, "brief") == 1000)
    assert read(broker, "brief") == []
    fill(broker, "brief", count=1)
    eventually(lambda: start_offset(broker, "brief") == 1001)


def test_a_topic_stays_within_its_size(broker: RunningBroker) -> None:
    make_topic(broker, "small", retention_bytes=str(SEGMENT_BYTES))
    fill(broker, "small")
    # A segment goes while the rest still has the size asked for: less than one segment beyond it stays.
    eventually(lambda: start_offset(broker, "small") > 0 and stored_bytes(broker) < 2 * SEGMENT_BYTES)
    found = read(broker, "small")
    assert found[-1].offset() == RECORDS - 1
    # The values are some nine tenths of what is stored.
    assert 0.8 * SEGMENT_BYTES <= sum(len(message.value() or b"") for message in found) <= 2 * SEGMENT_BYTES


def test_the_cleaner_can_be_switched_off() -> None:
    with testing.broker({**BRISK, "log.cleaner.enable": "false"}) as broker:
        make_topic(broker, "t", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
        make_topic(broker, "brief", retention_ms="1")
        fill(broker, "t")
        fill(broker, "brief", count=1)
        eventually(lambda: start_offset(broker, "brief") == 1)
        assert len(read(broker, "t")) == RECORDS


def test_a_topic_written_in_transactions_keeps_the_last_committed_values(broker: RunningBroker) -> None:
    make_topic(broker, "decided", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    fill_in_transactions(broker, "decided", size=500)
    eventually(lambda: stored_bytes(broker, directory_of(broker, "decided")) < 1.2 * SEGMENT_BYTES, 60)
    found = read(broker, "decided")
    assert len(found) < RECORDS / 4
    last = {message.key(): int((message.value() or b"").split()[0]) for message in found}
    latest = range(RECORDS - 500 - KEYS, RECORDS - 500)
    assert last == {f"key-{number % KEYS}".encode(): number for number in latest}


TRANSACTIONS = 240
PARTITIONS = 10
NOTE_BYTES = 2000


def test_offsets_committed_in_transactions_take_little_room() -> None:
    """A consumer under exactly-once writes its offsets over and over; only the last of each is worth keeping."""
    config = BRISK | {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": str(SEGMENT_BYTES),
        "log.cleaner.delete.retention.ms": "1",
        "log.cleaner.min.cleanable.ratio": "0.01",
    }
    with testing.broker(config) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("t", PARTITIONS, 1)])["t"].result(10)
        commit_offsets_in_transactions(broker)
        assert TRANSACTIONS * PARTITIONS * NOTE_BYTES > 4 * SEGMENT_BYTES
        directory = directory_of(broker, "__consumer_offsets")
        # The active segment is not compacted; of the others little is left.
        eventually(lambda: stored_bytes(broker, directory) < 1.3 * SEGMENT_BYTES, 60)
        check_committed(broker)
        broker.restart()
        check_committed(broker)


def commit_offsets_in_transactions(broker: RunningBroker) -> None:
    """Every other transaction is aborted, the last one too."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "exactly-once"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "exactly-once"})
    try:
        # Asks for the group's coordinator, which makes its topic.
        consumer.committed([TopicPartition("t", 0)], 20)
        producer.init_transactions(20)
        for number in range(TRANSACTIONS):
            producer.begin_transaction()
            offsets = [TopicPartition("t", index, number, "n" * NOTE_BYTES) for index in range(PARTITIONS)]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 20)
            if number % 2:
                producer.abort_transaction(20)
            else:
                producer.commit_transaction(20)
    finally:
        consumer.close()


def check_committed(broker: RunningBroker) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "exactly-once"})
    try:
        found = consumer.committed([TopicPartition("t", index) for index in range(PARTITIONS)], 20)
        assert [each.offset for each in found] == [TRANSACTIONS - 2] * PARTITIONS
    finally:
        consumer.close()


def directory_of(broker: RunningBroker, topic: str) -> str:
    """The topic's id, which its directory is named by."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (described,) = admin.describe_topics(TopicCollection([topic])).values()
    topic_id = described.result(10).topic_id
    bits = (topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits())
    return b"".join(number.to_bytes(8, "big", signed=True) for number in bits).hex()
