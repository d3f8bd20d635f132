"""kafka-python beside librdkafka: an idempotent producer and a consumer, each with the defaults that it has."""

import logging
from functools import partial
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tools.chaos.client_history import PARTITIONS, ClientHistory
from tools.chaos.workloads import Actor
from tools.soak.history import Verdict

TOPIC = "chaos-kafka-python"
PACE_S = 0.04
FLUSH_S = 120.0
POLL_MS = 300


class _Writer(Actor):
    def __init__(self, bootstrap: str, seed: int, history: ClientHistory) -> None:
        super().__init__(bootstrap, seed)
        self.history = history

    def work(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self.bootstrap.split(","), acks="all", enable_idempotence=True)
        number = 0
        while not self.stopping.wait(PACE_S):
            for partition in range(PARTITIONS):
                value = b"%d" % number
                self.history.sent[partition].append(value)
                future = producer.send(TOPIC, value, partition=partition)
                future.add_callback(partial(self._delivered, value)).add_errback(self._failed)
                number += 1
        producer.flush(FLUSH_S)
        producer.close(FLUSH_S)
        if left := number - len(self.history.acknowledged) - len(self.failures):
            self.failures.append(f"kafka-python: {left} records were neither acknowledged nor refused")

    def _delivered(self, value: bytes, metadata: Any) -> None:
        self.history.note_acknowledged(metadata.partition, value, metadata.offset)

    def _failed(self, error: Exception) -> None:
        self.failures.append(f"kafka-python: {error!r}")


class _Reader(Actor):
    def __init__(self, bootstrap: str, seed: int, history: ClientHistory) -> None:
        super().__init__(bootstrap, seed)
        self.history = history

    def work(self) -> None:
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap.split(","), auto_offset_reset="earliest")
        consumer.assign([TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)])
        positions = dict.fromkeys(range(PARTITIONS), 0)
        while not self.stopping.is_set():
            for place, found in consumer.poll(POLL_MS).items():
                for record in found:
                    if record.offset < positions[place.partition]:
                        self.failures.append(f"kafka-python: {place} went back to {record.offset}")
                    positions[place.partition] = record.offset + 1
                    self.history.note_read(place.partition, record.offset, record.value)
        consumer.close()


class KafkaPython:
    """See the module."""

    topics = (TOPIC,)

    def __init__(self, bootstrap: str, seed: int) -> None:
        # It tells every lost connection.
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self.history = ClientHistory()
        self.writers = (_Writer(bootstrap, seed, self.history),)
        self.readers = (_Reader(bootstrap, seed, self.history),)

    def is_caught_up(self) -> bool:
        return self.history.is_caught_up()

    def verdict(self) -> Verdict:
        return self.history.verdict()
