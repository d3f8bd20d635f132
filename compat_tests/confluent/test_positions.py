"""Where a librdkafka consumer may begin: offsets, times, the ends, and what happens outside of the log."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from compat_tests.admin import admin_client
from compat_tests.clients import Record
from compat_tests.clients.confluent import Confluent, consumer_for, read

BASE_MS = 1_700_000_000_000


@pytest.fixture
def topic(bootstrap: str, make_topic: Callable[..., str]) -> str:
    """Ten records, a second apart, sent as two batches."""
    name = make_topic()
    for numbers in (range(6), range(6, 10)):
        records = [Record(f"{number}".encode(), timestamp_ms=BASE_MS + 1000 * number) for number in numbers]
        Confluent().produce(bootstrap, name, records)
    return name


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[Consumer]:
    consumer = consumer_for(bootstrap, auto_offset_reset="error")
    yield consumer
    consumer.close()


def offsets(consumer: Consumer, count: int) -> list[int]:
    return [record.offset for record in read(consumer, count)]


@pytest.mark.parametrize("offset", [0, 3, 5, 6, 9])
def test_from_an_offset(consumer: Consumer, topic: str, offset: int) -> None:
    consumer.assign([TopicPartition(topic, 0, offset)])
    assert offsets(consumer, 10 - offset) == list(range(offset, 10))


def test_seek_back_and_forth(consumer: Consumer, topic: str) -> None:
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert offsets(consumer, 4) == [0, 1, 2, 3]
    consumer.seek(TopicPartition(topic, 0, 8))
    assert offsets(consumer, 2) == [8, 9]
    consumer.seek(TopicPartition(topic, 0, 2))
    assert offsets(consumer, 2) == [2, 3]
    (position,) = consumer.position([TopicPartition(topic, 0)])
    assert position.offset == 4


def test_from_the_beginning(consumer: Consumer, topic: str) -> None:
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert offsets(consumer, 10) == list(range(10))


def test_from_the_end(consumer: Consumer, bootstrap: str, topic: str) -> None:
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    assert read(consumer, 1, seconds=1) == []
    Confluent().produce(bootstrap, topic, [Record(b"new")])
    assert offsets(consumer, 1) == [10]


def test_watermarks(consumer: Consumer, topic: str) -> None:
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)


@pytest.mark.parametrize(
    ("delay_ms", "offset"), [(-5000, 0), (0, 0), (1, 1), (3000, 3), (3500, 4), (9000, 9), (9001, OFFSET_END)]
)
def test_by_time(consumer: Consumer, topic: str, delay_ms: int, offset: int) -> None:
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, BASE_MS + delay_ms)], timeout=10)
    assert found.error is None
    assert found.offset == offset


def test_deleted_records_are_gone(consumer: Consumer, bootstrap: str, topic: str) -> None:
    where = TopicPartition(topic, 0, 4)
    (deleted,) = admin_client(bootstrap).delete_records([where]).values()
    assert deleted.result(10).low_watermark == 4
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (4, 10)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    assert offsets(consumer, 6) == list(range(4, 10))


@pytest.mark.parametrize(("policy", "first"), [("earliest", 4), ("latest", 10)])
def test_out_of_range_goes_where_the_policy_says(bootstrap: str, topic: str, policy: str, first: int) -> None:
    (deleted,) = admin_client(bootstrap).delete_records([TopicPartition(topic, 0, 4)]).values()
    deleted.result(10)
    consumer = consumer_for(bootstrap, auto_offset_reset=policy)
    try:
        consumer.assign([TopicPartition(topic, 0, 1)])
        found = read(consumer, 1, seconds=2 if policy == "latest" else 20)
        if policy == "latest":
            assert found == []
            Confluent().produce(bootstrap, topic, [Record(b"new")])
            found = read(consumer, 1)
        assert found[0].offset == first
    finally:
        consumer.close()


@pytest.mark.parametrize("offset", [1, 1000])
def test_out_of_range_is_an_error_if_the_policy_says_so(
    consumer: Consumer, bootstrap: str, topic: str, offset: int
) -> None:
    (deleted,) = admin_client(bootstrap).delete_records([TopicPartition(topic, 0, 4)]).values()
    deleted.result(10)
    consumer.assign([TopicPartition(topic, 0, offset)])
    with pytest.raises(KafkaException) as failure:
        read(consumer, 1)
    assert failure.value.args[0].code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)


def test_an_unknown_topic(consumer: Consumer, topic_name: str) -> None:
    with pytest.raises(KafkaException) as failure:
        consumer.get_watermark_offsets(TopicPartition(topic_name, 0), timeout=10)
    assert failure.value.args[0].code() == KafkaError._UNKNOWN_PARTITION
