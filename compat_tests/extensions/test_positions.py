"""Consumers of a prioritised topic that do not begin at its start: at latest, by seek, from a committed offset."""

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import OFFSET_END, TopicPartition
from kafka import TopicPartition as KafkaPythonTopicPartition

from compat_tests.admin import admin_client
from compat_tests.clients import CLIENTS, PYTHON_CLIENTS, confluent, kafkapython
from compat_tests.clients.aio import read as aio_read
from compat_tests.clients.base import Record
from compat_tests.extensions.holding import batch, end_offset, tide, tidegate_only
from compat_tests.wire.requests import produce, produced
from tools.reference.java import java_command

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
WANTED = 5


def send(bootstrap: str, topic: str, *records: Record) -> None:
    assert produced(bootstrap, produce(topic, batch(records))).error_code == 0


@contextmanager
def probing(bootstrap: str, topic: str) -> Iterator[list[bytes]]:
    """Numbered records of one priority, one after the other, until the block ends."""
    sent: list[bytes] = []
    stop = threading.Event()

    def probe() -> None:
        while not stop.wait(0.1):
            sent.append(b"probe %d" % len(sent))
            send(bootstrap, topic, Record(sent[-1], b"k", tide(priority="low")))

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        stop.set()
        thread.join(20)


def confluent_latest(bootstrap: str, topic: str) -> list[bytes]:
    consumer = confluent.consumer_for(bootstrap)
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    found = confluent.read(consumer, WANTED)
    consumer.close()
    return [record.value or b"" for record in found]


def kafka_python_latest(bootstrap: str, topic: str) -> list[bytes]:
    consumer = kafkapython.consumer_for(bootstrap)
    place = KafkaPythonTopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_end(place)
    found = kafkapython.read(consumer, WANTED)
    consumer.close()
    return [record.value or b"" for record in found]


def aio_latest(bootstrap: str, topic: str) -> list[bytes]:
    async def latest() -> list[bytes]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        place = AioTopicPartition(topic, 0)
        consumer.assign([place])
        async with consumer:
            await consumer.seek_to_end(place)
            return [record.value or b"" for record in await aio_read(consumer, WANTED)]

    return asyncio.run(latest())


def kcat_latest(bootstrap: str, topic: str) -> list[bytes]:
    command = ["kcat", "-b", bootstrap, "-C", "-q", "-t", topic, "-p", "0", "-o", "end", "-c", str(WANTED)]
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout.splitlines()


def java_latest(bootstrap: str, topic: str) -> list[bytes]:
    options = ("--partition", "0", "--offset", "latest", "--max-messages", str(WANTED), "--timeout-ms", "20000")
    command = java_command("ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic, *options)
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout.splitlines()


LATEST = {
    "confluent": confluent_latest,
    "kafka-python": kafka_python_latest,
    "aiokafka": aio_latest,
    "kcat": kcat_latest,
    "java": java_latest,
}


@pytest.mark.parametrize("name", LATEST)
def test_who_starts_at_latest_gets_all_that_comes_later_and_nothing_older(
    bootstrap: str, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"old %d" % number) for number in range(1000)))
    with probing(bootstrap, topic) as sent:
        found = LATEST[name](bootstrap, topic)
    assert len(found) == WANTED
    first = sent.index(found[0])
    assert found == sent[first : first + WANTED]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_seek_past_what_was_read_leaves_the_rest_for_who_goes_back(
    bootstrap: str, make_topic: MakeTopic, name: str
) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"%d" % number, b"k", tide(priority=number % 5)) for number in range(40)))
    later = CLIENTS[name].consume(bootstrap, topic, 20, offset=20)
    assert [record.offset for record in later] == list(range(20, 40))
    everything = CLIENTS["confluent"].consume(bootstrap, topic, 40)
    assert [record.value for record in everything[20:]] == [record.value for record in later]
    # What was ready first lies below the offset that was asked for first.
    assert {record.value for record in everything[:20]} == {b"%d" % number for number in range(20)}
    assert {record.value for record in everything} == {b"%d" % number for number in range(40)}


@pytest.mark.parametrize("name", PYTHON_CLIENTS)
def test_a_seek_back_reads_the_same_again(bootstrap: str, make_topic: MakeTopic, name: str) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"%d" % number, b"k", tide(priority=number % 5)) for number in range(50)))
    first = CLIENTS[name].consume(bootstrap, topic, 30)
    send(bootstrap, topic, Record(b"urgent", b"k", tide(priority=0)))
    again = CLIENTS[name].consume(bootstrap, topic, 51)
    assert again[:30] == first
    assert len({record.value for record in again}) == 51


def test_a_committed_offset_beyond_the_log(bootstrap: str, make_topic: MakeTopic) -> None:
    """As by a tool that sets a group to the end: nobody has read, so that far the order is not fixed."""
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"old %d" % number) for number in range(100)))
    settings = {"group_id": topic, "auto_offset_reset": "error"}
    consumer = confluent.consumer_for(bootstrap, **settings)
    consumer.commit(offsets=[TopicPartition(topic, 0, end_offset(bootstrap, topic))], asynchronous=False)
    consumer.subscribe([topic])
    send(bootstrap, topic, Record(b"new", b"k", tide(priority="background")))
    assert [record.value for record in confluent.read(consumer, 1)] == [b"new"]
    consumer.close()


def test_records_may_be_deleted_beyond_what_was_read(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"%d" % number) for number in range(100)))
    deleted = admin_client(bootstrap).delete_records([TopicPartition(topic, 0, 60)])
    assert [each.result(20).low_watermark for each in deleted.values()] == [60]
    found = CLIENTS["confluent"].consume(bootstrap, topic, 40, offset=60)
    assert [record.value for record in found] == [b"%d" % number for number in range(60, 100)]


def test_a_time_finds_what_is_ready_where_it_will_be_met(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    send(bootstrap, topic, *(Record(b"old", timestamp_ms=1_000_000 + number) for number in range(5)))
    assert len(CLIENTS["confluent"].consume(bootstrap, topic, 5)) == 5
    send(bootstrap, topic, Record(b"new", timestamp_ms=2_000_000))
    consumer = confluent.consumer_for(bootstrap)
    asked = [TopicPartition(topic, 0, time_ms) for time_ms in (1_000_002, 1_500_000, 3_000_000)]
    offsets = [consumer.offsets_for_times([one], timeout=20)[0].offset for one in asked]
    consumer.close()
    assert offsets[:2] == [2, 5]
    assert offsets[2] in (OFFSET_END, 6)
    (found,) = CLIENTS["confluent"].consume(bootstrap, topic, 1, offset=5)
    assert found.value == b"new"
