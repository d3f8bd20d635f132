"""The loads: what is done to a broker, and what is measured meanwhile."""

import re
import time
from collections.abc import Mapping

from confluent_kafka.admin import AdminClient, NewTopic

from tools.bench.brokers import Subject
from tools.bench.processes import cpu_s, resident_mb
from tools.reference.java import java_tool

Figures = dict[str, float]
_RESULT = re.compile(
    r"records sent, ([\d.]+) records/sec .*?([\d.]+) ms avg latency, ([\d.]+) ms max latency"
    r"(?:, (\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th)?"
)
CLIENT_OPTIONS = ("-Xmx512m",)
SETTLE_S = 2.0


def idle(subject: Subject) -> Figures:
    """Start and memory, with nothing to do."""
    time.sleep(SETTLE_S)
    return {"start_s": subject.start_s, "memory_mb": resident_mb(subject.pid)}


def produce(
    subject: Subject, *, records: int, size: int, partitions: int, warm_up: int, producer: Mapping[str, str]
) -> Figures:
    """Kafka's own ProducerPerformance, after a warm-up of the broker by the same."""
    topic = f"load-{records}-{size}-{partitions}"
    _make_topic(subject, topic, partitions)
    if warm_up:
        _perf(subject, topic, warm_up, size, producer)
    before = cpu_s(subject.pid)
    figures = _perf(subject, topic, records, size, producer)
    figures["cpu_s"] = cpu_s(subject.pid) - before
    figures["memory_mb"] = resident_mb(subject.pid)
    return figures


def transact(subject: Subject, *, records: int, size: int, partitions: int, warm_up: int, duration_ms: int) -> Figures:
    """The same in transactions, each of which is committed after `duration_ms`."""
    topic = f"transactions-{records}-{size}-{partitions}"
    _make_topic(subject, topic, partitions)
    options = ("--transaction-duration-ms", str(duration_ms), "--transactional-id", topic)
    _perf(subject, topic, warm_up, size, {}, options)
    before = cpu_s(subject.pid)
    figures = _perf(subject, topic, records, size, {}, options)
    figures["cpu_s"] = cpu_s(subject.pid) - before
    return figures


def _perf(
    subject: Subject,
    topic: str,
    records: int,
    size: int,
    producer: Mapping[str, str],
    options: tuple[str, ...] = (),
) -> Figures:
    settings = {"bootstrap.servers": subject.bootstrap, "acks": "all", **producer}
    completed = java_tool(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(size), "--throughput", "-1"),
        *options,
        *("--producer-props", *(f"{name}={value}" for name, value in settings.items())),
        timeout=600,
        options=CLIENT_OPTIONS,
    )
    found = _RESULT.findall(completed.stdout)
    if completed.returncode != 0 or not found:
        raise SystemExit(f"ProducerPerformance failed: {completed.stdout[-500:]} {completed.stderr[-500:]}")
    rate, average, _, _, _, p99 = found[-1]
    return {"records_per_s": float(rate), "average_ms": float(average), "p99_ms": float(p99 or 0)}


def _make_topic(subject: Subject, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": subject.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
