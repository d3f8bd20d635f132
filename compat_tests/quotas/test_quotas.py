"""Quotas set by Kafka's ConfigCommand, and how throttled clients see them."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer, ThrottleEvent

from compat_tests.conftest import unique_name
from compat_tests.java.tool import failing_tool, tool

MakeTopic = Callable[..., str]


def alter(bootstrap: str, entity: tuple[str, ...], added: str = "", removed: str = "") -> None:
    changes = (*(("--add-config", added) if added else ()), *(("--delete-config", removed) if removed else ()))
    tool("ConfigCommand", bootstrap, *entity, "--alter", *changes)


def client(name: str) -> tuple[str, ...]:
    return ("--entity-type", "clients", "--entity-name", name)


@pytest.fixture
def bounded_client(bootstrap: str) -> Iterator[str]:
    """A client id that may write and read 50 kB/s."""
    name = unique_name("bounded")
    alter(bootstrap, client(name), "producer_byte_rate=50000,consumer_byte_rate=50000")
    yield name
    alter(bootstrap, client(name), removed="producer_byte_rate,consumer_byte_rate")


def test_quotas_by_kafkas_tool(bootstrap: str, bounded_client: str) -> None:
    shown = tool("ConfigCommand", bootstrap, *client(bounded_client), "--describe")
    assert f"'{bounded_client}' are consumer_byte_rate=50000.0, producer_byte_rate=50000.0" in shown
    said = failing_tool(
        "ConfigCommand", bootstrap, *client(bounded_client), "--alter", "--add-config", "producer_byte_rate=0"
    )
    assert "producer_byte_rate must be greater than 0" in said
    address = ("--entity-type", "ips", "--entity-name", "127.0.0.77")
    alter(bootstrap, address, "connection_creation_rate=9")
    assert "connection_creation_rate=9.0" in tool("ConfigCommand", bootstrap, *address, "--describe")
    alter(bootstrap, address, removed="connection_creation_rate")
    assert "connection_creation_rate" not in tool("ConfigCommand", bootstrap, *address, "--describe")


def test_librdkafka_is_told_to_wait(bootstrap: str, make_topic: MakeTopic, bounded_client: str) -> None:
    events: list[ThrottleEvent] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": bounded_client,
            "throttle_cb": events.append,
            "linger.ms": 20,
            "batch.size": 40_000,
        }
    )
    topic, began = make_topic(), time.monotonic()
    delivered = _produced(producer, topic, 70)
    assert delivered == 70, "what is throttled is not lost"
    assert events, "librdkafka tells of the throttling"
    assert max(event.throttle_time for event in events) > 0
    assert time.monotonic() - began > 1.5, "500 kB at once, 50 kB/s from then on: 700 kB take seconds more"


def _produced(producer: Producer, topic: str, count: int) -> int:
    delivered = 0

    def done(error: Any, _message: Any) -> None:
        nonlocal delivered
        assert error is None
        delivered += 1

    for _ in range(count):
        producer.produce(topic, bytes(10_000), on_delivery=done)
        producer.poll(0)
    assert producer.flush(30) == 0
    return delivered


def test_java_tells_in_its_metrics_how_long_it_was_throttled(
    bootstrap: str, make_topic: MakeTopic, bounded_client: str
) -> None:
    topic = make_topic()
    assert _java_wrote(bootstrap, topic, unique_name("free")) == (0, 0)
    average, most = _java_wrote(bootstrap, topic, bounded_client)
    assert 0 < average <= most
    average, most = _java_read(bootstrap, topic, bounded_client)
    assert 0 < average <= most


def _java_wrote(bootstrap: str, topic: str, client_id: str) -> tuple[float, float]:
    """How long a Java producer was told to wait for 700 kB, on average and at most, in milliseconds."""
    amount = ("--num-records", "70", "--record-size", "10000", "--throughput", "-1", "--print-metrics")
    settings = ("--command-property", f"client.id={client_id}", "batch.size=40000")
    shown = tool("ProducerPerformance", bootstrap, "--topic", topic, *amount, *settings)
    return _metric(shown, "produce-throttle-time-avg"), _metric(shown, "produce-throttle-time-max")


def _java_read(bootstrap: str, topic: str, client_id: str) -> tuple[float, float]:
    """The same of a consumer, which reads all that was written."""
    where = ("--topic", topic, "--num-records", "140", "--print-metrics")
    settings = ("--command-property", f"client.id={client_id}", "fetch.max.bytes=40000")
    shown = tool("ConsumerPerformance", bootstrap, *where, *settings)
    return _metric(shown, "fetch-throttle-time-avg"), _metric(shown, "fetch-throttle-time-max")


def _metric(shown: str, name: str) -> float:
    """Of what `--print-metrics` has printed."""
    found = re.search(rf":{name}:\{{.*\}}\s*:\s*([0-9.]+|NaN)", shown)
    assert found, shown
    return float(found[1])
