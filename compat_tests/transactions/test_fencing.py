"""Zombies, timeouts and open transactions."""

from collections.abc import Callable

import pytest
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from compat_tests import admin
from compat_tests.transactions.readers import END, confluent, kcat_reader
from compat_tests.transactions.writers import PATIENCE_S, confluent_producer
from compat_tests.waiting import eventually


def end_offsets(bootstrap: str, topic: str) -> tuple[int, int]:
    """(last stable offset, high watermark)."""
    place = TopicPartition(topic, 0)
    found = []
    for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        futures = admin.admin_client(bootstrap).list_offsets({place: OffsetSpec.latest()}, isolation_level=level)
        found.append(futures[place].result(PATIENCE_S).offset)
    return found[0], found[1]


def test_a_second_instance_fences_the_first_and_aborts_what_it_had_open(
    bootstrap: str, make_topic: Callable[..., str]
) -> None:
    topic = make_topic()
    old = confluent_producer(bootstrap, topic)
    old.begin_transaction()
    old.produce(topic, "lost", partition=0)
    old.flush(PATIENCE_S)
    new = confluent_producer(bootstrap, topic)
    with pytest.raises(KafkaException) as refused:
        old.commit_transaction(PATIENCE_S)
    assert refused.value.args[0].fatal()
    new.begin_transaction()
    new.produce(topic, END, partition=0)
    new.commit_transaction(PATIENCE_S)
    assert confluent(bootstrap, topic, "read_committed") == [END]
    assert confluent(bootstrap, topic, "read_uncommitted") == ["lost", END]


def test_nothing_is_stable_behind_an_open_transaction(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    slow, quick = confluent_producer(bootstrap, f"{topic}-slow"), confluent_producer(bootstrap, f"{topic}-quick")
    slow.begin_transaction()
    slow.produce(topic, "slow", partition=0)
    slow.flush(PATIENCE_S)
    quick.begin_transaction()
    quick.produce(topic, "quick", partition=0)
    quick.commit_transaction(PATIENCE_S)
    eventually(lambda: end_offsets(bootstrap, topic), (0, 3))
    assert kcat_reader(bootstrap, topic, "read_committed") == []
    slow.commit_transaction(PATIENCE_S)
    eventually(lambda: end_offsets(bootstrap, topic), (4, 4))
    assert kcat_reader(bootstrap, topic, "read_committed") == ["slow", "quick"]


@pytest.mark.timeout(60)
def test_a_transaction_past_its_timeout_is_aborted_and_its_producer_fenced(
    bootstrap: str, make_topic: Callable[..., str]
) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, topic, timeout_ms=1000)
    producer.begin_transaction()
    producer.produce(topic, "slow", partition=0)
    producer.flush(PATIENCE_S)
    # No longer than the timeout and ten seconds.
    eventually(lambda: end_offsets(bootstrap, topic), (2, 2), seconds=20.0)
    with pytest.raises(KafkaException):
        producer.commit_transaction(PATIENCE_S)
    assert kcat_reader(bootstrap, topic, "read_committed") == []


def test_a_timeout_beyond_the_brokers_bound_is_refused(bootstrap: str, topic_name: str) -> None:
    with pytest.raises(KafkaException) as refused:
        confluent_producer(bootstrap, topic_name, timeout_ms=900_001)
    assert refused.value.args[0].name() == "INVALID_TRANSACTION_TIMEOUT"
