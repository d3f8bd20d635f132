"""Loads that ask how much the broker bears: many partitions at once, a crowd of connections, a large log to recover."""

import resource
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tidegate import testing
from tools.bench.brokers import Subject
from tools.bench.processes import cpu_s, resident_mb

Figures = dict[str, float]
MEBIBYTE = 1024 * 1024


def make_topics(bootstrap: str, topics: Mapping[str, int]) -> None:
    """Make topics with so many partitions each, in one request."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
        future.result(60)


class PacedProducer:
    """Single records at a steady rate, round robin over partitions; remembers how long each answer took."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self._topic = topic
        self._partitions = partitions
        self.latencies_ms: list[float] = []

    def run(self, records_per_s: int, duration_s: float, *, size: int = 200, burst: int = 1) -> None:
        """`burst` records to neighbouring partitions at a time, at this rate of records."""
        value = b"x" * size
        began = time.monotonic()
        for number in range(int(records_per_s * duration_s / burst)):
            due = began + number * burst / records_per_s
            while (rest := due - time.monotonic()) > 0:
                self._producer.poll(min(rest, 0.01))
            for member in range(burst):
                sent = time.monotonic()
                partition = (number * burst + member) % self._partitions
                self._producer.produce(
                    self._topic,
                    value,
                    partition=partition,
                    on_delivery=lambda error, _, sent=sent: self._done(error, sent),
                )
        if self._producer.flush(60):
            raise SystemExit("records were not acknowledged in time")

    def _done(self, error: object, sent: float) -> None:
        if error is not None:
            raise SystemExit(f"a record was refused: {error}")
        self.latencies_ms.append((time.monotonic() - sent) * 1000)

    def percentile_ms(self, percent: float) -> float:
        """Of the latencies so far."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def hundred_partitions(subject: Subject) -> Figures:
    """A record to each of 100 partitions at once, ten times a second."""
    make_topics(subject.bootstrap, {"wide": 100})
    PacedProducer(subject.bootstrap, "wide", 100).run(1000, 2, burst=100)
    paced = PacedProducer(subject.bootstrap, "wide", 100)
    paced.run(1000, 10, burst=100)
    return {"p50_ms": paced.percentile_ms(50), "p99_ms": paced.percentile_ms(99)}


def crowd(subject: Subject) -> Figures:
    """5,000 idle connections and 1,000 partitions, and what one more client notices of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host, _, port = subject.bootstrap.rpartition(":")
    with ExitStack() as stack:
        for _ in range(5000):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
        began = time.monotonic()
        make_topics(subject.bootstrap, {f"crowd-{number}": 1 for number in range(1000)})
        topics_s = time.monotonic() - began
        make_topics(subject.bootstrap, {"busy": 1})
        paced = PacedProducer(subject.bootstrap, "busy", 1)
        before = cpu_s(subject.pid)
        paced.run(500, 10)
        figures = {
            "make_1000_s": topics_s,
            "p50_ms": paced.percentile_ms(50),
            "p99_ms": paced.percentile_ms(99),
            "cpu_s": cpu_s(subject.pid) - before,
            "memory_mb": resident_mb(subject.pid),
        }
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return figures


def recovery(gibibytes: int, data_dir: Path, *, partitions: int = 100) -> Figures:
    """Fill a log, kill -9 the broker, and time its next start."""
    with testing.broker({}, data_dir=data_dir, timeout_s=300) as broker:
        make_topics(broker.bootstrap, {"large": partitions})
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "batch.size": 900_000, "acks": 1})
        value = bytes(8192)
        for number in range(gibibytes * 1024 * MEBIBYTE // len(value)):
            while True:
                try:
                    producer.produce("large", value, partition=number % partitions)
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.flush(120)
        broker.kill()
        began = time.monotonic()
        broker.start()
        return {"recovery_s": time.monotonic() - began, "memory_mb": resident_mb(broker.pid)}
