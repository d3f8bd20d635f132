"""Dead letters for the tests of the command line, as a broker or a client writes them."""

import time
from collections.abc import Callable, Iterable

from confluent_kafka import Consumer, Producer, TopicPartition

REJECTED = "Offset rejected by client."


def write_letters(bootstrap: str, topic: str, origin: str, numbers: Iterable[int], partitions: int = 1) -> None:
    """Letters v0, v1, ... with the headers of KIP-1191; even ones were rejected, odd ones delivered too often."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in numbers:
        reason = REJECTED if number % 2 == 0 else "Offset delivery count exceeded the threshold."
        headers = {"topic": origin, "partition": "0", "offset": str(number), "group": "mail", "message": reason}
        named = [(f"__dlq.errors.{name}", value) for name, value in headers.items()]
        producer.produce(topic, f"v{number}", f"k{number}", number % partitions, headers=named)
    assert producer.flush(30) == 0


def committed_values(bootstrap: str, topic: str, partitions: int = 1) -> list[str]:
    """All values that can be read in a topic, sorted by their numbers."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
    values, ended = list[str](), 0
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        while ended < partitions:
            message = consumer.poll(30)
            assert message is not None
            if message.error() is None:
                values.append((message.value() or b"").decode())
            else:
                ended += 1
    finally:
        consumer.close()
    return sorted(values, key=lambda value: int(value[1:]))


def eventually(condition: Callable[[], object], deadline_s: float = 30.0) -> None:
    """Ask again until it holds."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
