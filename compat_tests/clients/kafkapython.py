"""kafka-python."""

import time
from collections.abc import Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from compat_tests.clients.base import Consumed, Record
from compat_tests.clients.in_python import as_sent, consumed

READ_SECONDS = 20.0


class KafkaPython:
    """Can do everything that a scenario asks for."""

    name = "kafkapython"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none") -> None:
        producer = producer_for(bootstrap, codec=codec)
        try:
            for sent in [producer.send(topic, **as_sent(record)) for record in records]:
                sent.get(30)
        finally:
            producer.close(timeout=10)

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Consumed]:
        consumer = consumer_for(bootstrap)
        try:
            where = TopicPartition(topic, partition)
            consumer.assign([where])
            consumer.seek(where, offset)
            return read(consumer, count)
        finally:
            consumer.close()


def producer_for(bootstrap: str, codec: str = "none", **settings: Any) -> KafkaProducer:
    options = {"acks": "all", "linger_ms": 20, **settings}
    return KafkaProducer(bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, **options)


def consumer_for(bootstrap: str, **settings: Any) -> KafkaConsumer:
    options = {"enable_auto_commit": False, "fetch_max_wait_ms": 200, **settings}
    return KafkaConsumer(bootstrap_servers=bootstrap, **options)


def read(consumer: KafkaConsumer, count: int, seconds: float = READ_SECONDS) -> list[Consumed]:
    """Polls until `count` records came or the time is over."""
    found: list[Consumed] = []
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=500, max_records=count - len(found)).values():
            found.extend(consumed(record) for record in records)
    return found
