"""Many records over several partitions: all there, once, and in order."""

from collections import defaultdict
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition

from compat_tests.clients import CLIENTS, Record
from compat_tests.clients.confluent import consumer_for, producer_for, read, send
from tools.soak.history import judge

PARTITIONS = 6


def records(count: int) -> list[Record]:
    return [Record(f"{number}".encode(), partition=number % PARTITIONS) for number in range(count)]


def sent_by_partition(count: int) -> dict[int, list[bytes | None]]:
    sent = defaultdict(list)
    for record in records(count):
        sent[record.partition].append(record.value)
    return sent


def test_100_000_records(bootstrap: str, make_topic: Callable[..., str]) -> None:
    count = 100_000
    topic = make_topic(PARTITIONS)
    producer = producer_for(bootstrap, codec="lz4", queue_buffering_max_messages=count)
    reports = send(producer, topic, records(count))
    assert producer.flush(60) == 0
    assert [error for error, _ in reports if error is not None] == []
    consumer = consumer_for(bootstrap)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    found = defaultdict(list)
    offsets = defaultdict(list)
    for record in read(consumer, count, seconds=60):
        found[record.partition].append(record.value)
        offsets[record.partition].append(record.offset)
    consumer.close()
    verdict = judge(sent_by_partition(count), found)
    assert verdict.clean, verdict
    assert all(seen == list(range(len(seen))) for seen in offsets.values())


@pytest.mark.parametrize("name", ["kafkapython", "aio"])
def test_10_000_records(bootstrap: str, make_topic: Callable[..., str], name: str) -> None:
    count = 10_000
    topic = make_topic(PARTITIONS)
    CLIENTS[name].produce(bootstrap, topic, records(count))
    found = {
        partition: [record.value for record in CLIENTS[name].consume(bootstrap, topic, size, partition=partition)]
        for partition, size in ((lane, len(marks)) for lane, marks in sent_by_partition(count).items())
    }
    verdict = judge(sent_by_partition(count), found)
    assert verdict.clean, verdict
