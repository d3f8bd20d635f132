"""Transactions over HTTP as Kafka's consumers read them, and over a `kill -9` of the broker."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer

from compat_tests import admin
from compat_tests.groups.consumers import consumers, wait_until
from compat_tests.members.broker import HttpBroker, http_broker

MakeTopic = Callable[..., str]
PATIENCE_S = 30.0


def read(broker: HttpBroker, topic: str, count: int, *, committed: bool = True) -> list[str]:
    """What a Kafka consumer reads: so many records, and a moment longer, in which no other may come."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": f"reader-{time.monotonic_ns()}",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed" if committed else "read_uncommitted",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value().decode())
            if len(found) == count:
                deadline = time.monotonic() + 1.0
    consumer.close()
    return sorted(found)


def init(broker: HttpBroker, name: str, **more: Any) -> str:
    return str(broker.done("POST", "/producers/init", transactional_id=name, **more)["producer"])


def write(broker: HttpBroker, producer: str, topic: str, *values: str, **more: Any) -> None:
    broker.done("POST", "/transactions/begin", producer=producer)
    records = [{"value": value, "key": value} for value in values]
    told = broker.done("POST", "/transactions/publish", producer=producer, topic=topic, records=records, **more)
    assert [each["error"] for each in told["records"]] == [None] * len(values)


def test_kafka_consumers_see_all_of_a_transaction_or_nothing(broker: HttpBroker, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    producer = init(broker, topic)
    write(broker, producer, topic, "a", "b", "c")
    broker.done("POST", "/transactions/commit", producer=producer)
    write(broker, producer, topic, "never")
    broker.done("POST", "/transactions/abort", producer=producer)
    write(broker, producer, topic, "open")
    assert read(broker, topic, 3) == ["a", "b", "c"]
    assert read(broker, topic, 5, committed=False) == ["a", "b", "c", "never", "open"]
    broker.done("POST", f"/producers/{producer}/close")


def test_a_silent_producer_is_aborted_for_and_consumers_go_on(broker: HttpBroker, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    silent, other = init(broker, f"{topic}-1", session_ms=1000), init(broker, f"{topic}-2")
    write(broker, silent, topic, "lost")
    write(broker, other, topic, "behind")
    broker.done("POST", "/transactions/commit", producer=other)
    assert read(broker, topic, 1) == ["behind"]
    assert broker.call("POST", "/transactions/commit", producer=silent).status == 404


@pytest.fixture
def mortal() -> Iterator[HttpBroker]:
    with http_broker() as running:
        yield running


def test_after_a_kill_what_was_committed_is_there_and_what_was_not_is_not(mortal: HttpBroker) -> None:
    admin.create_topic(mortal.bootstrap, "t", 2, {})
    first = init(mortal, "tx")
    write(mortal, first, "t", "kept", "too")
    mortal.done("POST", "/transactions/commit", producer=first)
    write(mortal, first, "t", "lost")
    with consumers(mortal.bootstrap, "g", "t") as start:
        member = start("http", http=mortal.http)
        wait_until(lambda: sum(event.get("committed", 0) for event in member.events) == 2, [member])
        member.kill()
        mortal.kill()
        mortal.start()
        gone = mortal.call("POST", "/transactions/commit", producer=first)
        assert (gone.status, gone.body["error"]) == (404, "NotAtHome")
        second = init(mortal, "tx")
        write(mortal, second, "t", "after", sequence=0)
        mortal.done("POST", "/transactions/commit", producer=second, transaction=1)
        assert read(mortal, "t", 3) == ["after", "kept", "too"]
        again = start("http", http=mortal.http)
        wait_until(lambda: len(again.records) == 1, [again], 60)
        assert [value for _, _, value in again.records] == ["after"]
