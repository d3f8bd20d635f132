"""What each client sees of one partition, under either isolation level, up to a record that says END."""

import asyncio
import time
from collections.abc import Callable

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonTopicPartition

from compat_tests.clients.kcat import kcat
from compat_tests.java.tool import console_text

END = "END"
PATIENCE_S = 20.0

Reader = Callable[[str, str, str], list[str]]


def confluent(bootstrap: str, topic: str, isolation: str) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    try:
        while (not found or found[-1] != END) and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is not None:
                assert message.error() is None, message.error()
                found.append((message.value() or b"").decode())
    finally:
        consumer.close()
    return found


def kafka_python(bootstrap: str, topic: str, isolation: str) -> list[str]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation, consumer_timeout_ms=int(PATIENCE_S * 1000)
    )
    place = KafkaPythonTopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek(place, 0)
    found: list[str] = []
    try:
        for message in consumer:
            found.append(message.value.decode())
            if found[-1] == END:
                break
    finally:
        consumer.close()
    return found


def aiokafka(bootstrap: str, topic: str, isolation: str) -> list[str]:
    async def read() -> list[str]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation)
        await consumer.start()
        place = AioTopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        found: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not found or found[-1] != END:
                    found.append((await consumer.getone()).value.decode())
        finally:
            await consumer.stop()
        return found

    return asyncio.run(read())


def kcat_reader(bootstrap: str, topic: str, isolation: str) -> list[str]:
    where = ("-t", topic, "-p", "0", "-o", "0", "-e", "-q")
    return kcat(bootstrap, "-C", *where, "-X", f"isolation.level={isolation}").decode().splitlines()


def java(bootstrap: str, topic: str, isolation: str) -> list[str]:
    where = ("--topic", topic, "--partition", "0", "--offset", "0", "--isolation-level", isolation)
    return console_text(bootstrap, *where, until=lambda text: text.endswith(f"{END}\n")).splitlines()


READERS: dict[str, Reader] = {
    "confluent": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "kcat": kcat_reader,
    "java": java,
}
