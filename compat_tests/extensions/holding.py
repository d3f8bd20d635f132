"""What the scenarios about held records share: headers, batches by hand, a consumer that notes when records came."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from attrs import define, field, frozen
from confluent_kafka import KafkaException, TopicPartition
from kafka.record.default_records import DefaultRecordBatchBuilder

from compat_tests import brokers
from compat_tests.clients.base import Consumed, Header, Record
from compat_tests.clients.confluent import _consumed, consumer_for
from compat_tests.java.program import java_program
from compat_tests.wire.batches import CODEC_NUMBERS
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import fetch, fetch_partition, list_offsets

PATIENCE_S = 30.0
tidegate_only = pytest.mark.skipif(brokers.target() == "kafka", reason="Kafka knows no tide- headers")


def tide(**values: object) -> tuple[Header, ...]:
    """`tide(deliver_at=5)` is the header `tide-deliver-at` with the value 5."""
    return tuple((f"tide-{name.replace('_', '-')}", str(value).encode()) for name, value in values.items())


def wall_ms() -> float:
    return time.time() * 1000


def batch(records: Sequence[Record], codec: str = "none") -> bytes:
    """One batch of these records."""
    builder = DefaultRecordBatchBuilder(2, CODEC_NUMBERS[codec], False, -1, -1, -1, 1 << 30)
    now_ms = int(wall_ms())
    for index, record in enumerate(records):
        builder.append(index, record.timestamp_ms or now_ms, record.key, record.value, list(record.headers))
    return bytes(builder.build())


def end_offset(bootstrap: str, topic: str) -> int:
    """The end that consumers are told."""
    return int(ask(bootstrap, list_offsets(topic, -1)).topics[0].partitions[0].offset)


def fetched_bytes(bootstrap: str, topic: str, offset: int, **options: Any) -> bytes:
    """What one Fetch gives at an offset."""
    answer = ask(bootstrap, fetch(topic, [fetch_partition(offset)], **options)).responses[0].partitions[0]
    assert answer.error_code == 0
    return bytes(answer.records or b"")


@frozen
class Arrival:
    """A record, and the wall clock when a consumer had it."""

    record: Consumed
    at_ms: float

    @property
    def waited_ms(self) -> float:
        """Since its producer made it."""
        return self.at_ms - self.record.timestamp_ms


@define(eq=False)
class Watcher:
    """Reads partition 0 from its start as records come."""

    bootstrap: str
    topic: str
    isolation: str = "read_committed"
    arrivals: list[Arrival] = field(factory=list)
    errors: list[str] = field(factory=list)
    stopping: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        consumer = consumer_for(self.bootstrap, fetch_wait_max_ms=50, isolation_level=self.isolation, log_level=0)
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        while not self.stopping.is_set():
            for message in consumer.consume(1000, timeout=0.05):
                if message.error():
                    self.errors.append(str(KafkaException(message.error())))
                else:
                    self.arrivals.append(Arrival(_consumed(message), wall_ms()))
        consumer.close()

    @property
    def values(self) -> list[bytes | None]:
        return [arrival.record.value for arrival in self.arrivals]

    def arrival(self, value: bytes) -> Arrival:
        """That of the record with this value, waited for."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for arrival in list(self.arrivals):
                if arrival.record.value == value:
                    return arrival
            time.sleep(0.01)
        raise AssertionError(f"{value!r} did not come; what came: {self.values}; errors: {self.errors}")


@contextmanager
def watching(bootstrap: str, topic: str, isolation: str = "read_committed") -> Iterator[Watcher]:
    watcher = Watcher(bootstrap, topic, isolation)
    thread = threading.Thread(target=watcher.run, daemon=True)
    thread.start()
    try:
        yield watcher
    finally:
        watcher.stopping.set()
        thread.join(PATIENCE_S)


def scripted_java(bootstrap: str, topic: str, lines: Sequence[str], *more: str) -> list[str]:
    """Lets Kafka's own producer do what the lines say; what it reports of every record."""
    command = java_program(Path(__file__).with_name("ScriptedProducer.java"))
    text = "".join(f"{line}\n" for line in lines)
    done = run([*command, bootstrap, topic, *more], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def java_line(record: Record) -> str:
    """A record as a line of the script."""
    headers = [f"{name}={(value or b'').decode()}" for name, value in record.headers]
    return "\t".join([(record.key or b"").decode(), (record.value or b"").decode(), *headers])
