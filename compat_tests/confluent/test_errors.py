"""How librdkafka reports what the broker refuses."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from compat_tests.clients import Record
from compat_tests.clients.confluent import producer_for, send

MakeTopic = Callable[..., str]
HOUR_MS = 3_600_000


def error_of(bootstrap: str, topic: str, record: Record, **settings: Any) -> int | None:
    producer = producer_for(bootstrap, **settings)
    reports = send(producer, topic, [record])
    assert producer.flush(30) == 0
    ((error, _),) = reports
    return None if error is None else int(error.code())


def test_a_record_too_large_for_the_broker(bootstrap: str, make_topic: MakeTopic) -> None:
    assert error_of(bootstrap, make_topic(), Record(b"x" * 1_100_000)) == KafkaError.MSG_SIZE_TOO_LARGE


def test_a_record_too_large_for_the_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes=1000)
    assert error_of(bootstrap, topic, Record(b"x" * 900)) is None
    assert error_of(bootstrap, topic, Record(b"x" * 1000)) == KafkaError.MSG_SIZE_TOO_LARGE


def test_a_topic_that_may_not_be_made(bootstrap: str, topic_name: str) -> None:
    settings = {"allow_auto_create_topics": False, "topic_metadata_propagation_max_ms": 200}
    error = error_of(bootstrap, topic_name, Record(b"x"), message_timeout_ms=4000, **settings)
    assert error in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)


def test_a_partition_that_is_not_there(bootstrap: str, make_topic: MakeTopic) -> None:
    error = error_of(bootstrap, make_topic(), Record(b"x", partition=7), message_timeout_ms=4000)
    assert error == KafkaError._UNKNOWN_PARTITION


def test_a_timestamp_too_far_ahead(bootstrap: str, make_topic: MakeTopic) -> None:
    record = Record(b"x", timestamp_ms=32_503_680_000_000)
    assert error_of(bootstrap, make_topic(), record) == KafkaError.INVALID_TIMESTAMP


def test_a_null_key_for_a_compacted_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(cleanup_policy="compact")
    assert error_of(bootstrap, topic, Record(b"x")) == KafkaError.INVALID_RECORD
    assert error_of(bootstrap, topic, Record(b"x", b"key")) is None


def test_a_topic_is_made_by_producing(bootstrap: str, topic_name: str) -> None:
    assert error_of(bootstrap, topic_name, Record(b"x")) is None


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(bootstrap: str, make_topic: MakeTopic, acks: str) -> None:
    assert error_of(bootstrap, make_topic(), Record(b"x"), acks=acks) is None
