"""confluent-kafka, that is librdkafka."""

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from compat_tests.clients.base import Consumed, Record

READ_SECONDS = 20.0


class Confluent:
    """Can do everything that a scenario asks for."""

    name = "confluent"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none") -> None:
        producer = producer_for(bootstrap, codec=codec)
        reports = send(producer, topic, records)
        assert producer.flush(30) == 0
        for error, _ in reports:
            if error is not None:
                raise KafkaException(error)

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Consumed]:
        consumer = consumer_for(bootstrap)
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            return read(consumer, count)
        finally:
            consumer.close()


def producer_for(bootstrap: str, codec: str = "none", **settings: Any) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 20,
            "acks": "all",
            "message.timeout.ms": 30_000,
            "message.max.bytes": 2_000_000,
            **_options(settings),
        }
    )


def consumer_for(bootstrap: str, **settings: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "never-joined",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "fetch.wait.max.ms": 200,
            **_options(settings),
        }
    )


def _options(settings: dict[str, Any]) -> dict[str, Any]:
    """The client's names for `settings`; one of them has an underscore of its own."""
    return {key if key == "log_level" else key.replace("_", "."): value for key, value in settings.items()}


def send(producer: Producer, topic: str, records: Sequence[Record]) -> list[tuple[Any, Any]]:
    """Hands the records over; the list fills with (error, message) as they are reported."""
    reports: list[tuple[Any, Any]] = []
    for record in records:
        extra = {} if record.timestamp_ms is None else {"timestamp": record.timestamp_ms}
        while True:
            try:
                producer.produce(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers) or None,
                    partition=record.partition,
                    on_delivery=lambda error, message: reports.append((error, message)),
                    **extra,
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    return reports


def read(consumer: Consumer, count: int, seconds: float = READ_SECONDS) -> list[Consumed]:
    """Polls until `count` records came or the time is over; raises what the client reports."""
    found: list[Consumed] = []
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(count - len(found), timeout=0.5):
            if message.error():
                raise KafkaException(message.error())
            found.append(_consumed(message))
    return found


def _consumed(message: Any) -> Consumed:
    return Consumed(
        offset=message.offset(),
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
        timestamp_ms=message.timestamp()[1],
        partition=message.partition(),
    )
