"""The brokers under test, started the same way: a name, an address, a process, how long the start took."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import frozen

from tidegate import testing
from tools.reference.broker import reference_kafka


@frozen
class Subject:
    """A running broker."""

    name: str
    bootstrap: str
    pid: int
    start_s: float


@contextmanager
def tidegate_subject(settings: Mapping[str, str] | None = None) -> Iterator[Subject]:
    """Tidegate with its defaults, or some settings over them."""
    began = time.monotonic()
    with testing.broker(settings or {}, timeout_s=60) as broker:
        yield Subject("tidegate", broker.bootstrap, broker.pid, time.monotonic() - began)


@contextmanager
def kafka_subject() -> Iterator[Subject]:
    """Apache Kafka with its defaults and a heap of 1 GiB."""
    began = time.monotonic()
    with reference_kafka() as broker:
        if broker.pid is None:
            raise SystemExit("the benchmark measures Kafka's process: run it where Kafka starts from its jars")
        yield Subject("kafka", broker.bootstrap, broker.pid, time.monotonic() - began)


SUBJECTS = {
    "tidegate": tidegate_subject,
    "tidegate-os": lambda: tidegate_subject({"log.flush.mode": "os"}),
    "kafka": kafka_subject,
}
