"""Reads topics to their end."""

import time
from collections import defaultdict

from confluent_kafka import Consumer, KafkaError, TopicPartition

PATIENCE_S = 40.0


def read_all(bootstrap: str, topic: str, partitions: int) -> dict[int, list[bytes]]:
    """The committed records of every partition, in their order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found: dict[int, list[bytes]] = defaultdict(list)
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"{topic}: only {sorted(ended)} could be read to the end"
            message = consumer.poll(0.5)
            if message is None:
                continue
            partition, error = message.partition() or 0, message.error()
            if error is None:
                found[partition].append(message.value() or b"")
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(partition)
    finally:
        consumer.close()
    return dict(found)
