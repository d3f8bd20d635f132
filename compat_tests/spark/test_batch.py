"""Batch reads: everything that Spark's source can be told about where to begin and to end."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.admin import create_topic
from compat_tests.clients.base import CODECS, Record
from compat_tests.clients.confluent import Confluent
from compat_tests.conftest import unique_name
from compat_tests.spark.reading import delete_before, frame, numbered, rows, send, values

MakeTopic = Callable[..., str]
BASE_MS = 1_760_000_000_000


@pytest.fixture(scope="module")
def timed(bootstrap: str) -> str:
    """Two partitions with a record each ten milliseconds, in turn."""
    topic = unique_name("timed")
    create_topic(bootstrap, topic, 2)
    times = range(0, 200, 5)
    send(bootstrap, topic, [Record(b"x", timestamp_ms=BASE_MS + at, partition=at // 5 % 2) for at in times])
    return topic


def test_from_the_earliest_to_the_latest(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    send(bootstrap, topic, numbered(3000, partitions=3))
    found = rows(frame(spark, bootstrap, topic))
    assert [(row.partition, row.offset) for row in found] == [(p, o) for p in range(3) for o in range(1000)]
    assert [int(row.value or b"") for row in found] == [o * 3 + p for p in range(3) for o in range(1000)]


def test_by_offsets_per_partition(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    send(bootstrap, topic, numbered(300, partitions=3))
    starts = json.dumps({topic: {"0": 10, "1": -2, "2": 98}})
    ends = json.dumps({topic: {"0": 20, "1": 5, "2": -1}})
    found = rows(frame(spark, bootstrap, topic, startingOffsets=starts, endingOffsets=ends))
    wanted = [(0, offset) for offset in range(10, 20)] + [(1, offset) for offset in range(5)] + [(2, 98), (2, 99)]
    assert [(row.partition, row.offset) for row in found] == wanted


def test_by_a_timestamp_for_all_partitions(spark: Any, bootstrap: str, timed: str) -> None:
    found = rows(frame(spark, bootstrap, timed, startingTimestamp=BASE_MS + 105, endingTimestamp=BASE_MS + 120))
    assert [(row.partition, row.timestamp_ms - BASE_MS) for row in found] == [(0, 110), (1, 105), (1, 115)]


def test_by_timestamps_per_partition(spark: Any, bootstrap: str, timed: str) -> None:
    starts = json.dumps({timed: {"0": BASE_MS + 171, "1": BASE_MS}})
    ends = json.dumps({timed: {"0": BASE_MS + 9_999, "1": BASE_MS + 16}})
    found = rows(frame(spark, bootstrap, timed, startingOffsetsByTimestamp=starts, endingOffsetsByTimestamp=ends))
    assert [(row.partition, row.timestamp_ms - BASE_MS) for row in found] == [(0, 180), (0, 190), (1, 5), (1, 15)]


def test_a_timestamp_that_no_record_has_reached(spark: Any, bootstrap: str, timed: str) -> None:
    chosen = frame(spark, bootstrap, timed, startingTimestamp=BASE_MS + 9_999)
    with pytest.raises(Exception, match="No offset matched"):
        chosen.count()
    latest = frame(
        spark, bootstrap, timed, startingTimestamp=BASE_MS + 9_999, startingOffsetsByTimestampStrategy="latest"
    )
    assert latest.count() == 0


def test_topics_by_pattern(spark: Any, bootstrap: str, topic_name: str) -> None:
    for suffix in ("-a", "-b", "x"):
        create_topic(bootstrap, topic_name + suffix)
        send(bootstrap, topic_name + suffix, [Record(suffix.encode())])
    found = frame(spark, bootstrap, subscribePattern=f"{topic_name}-[a-z]")
    assert sorted(row.topic for row in found.select("topic").collect()) == [f"{topic_name}-a", f"{topic_name}-b"]


def test_records_are_what_was_sent(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    sent = [
        Record(b"value", b"key", (("a", b"1"), ("a", b"2"), ("empty", b""), ("null", None), ("b", b"\xff")), BASE_MS),
        Record(None, b"tombstone", (), BASE_MS + 1),
        Record(b"", None, (), BASE_MS + 2),
        Record(b"\x00\xff" * 50_000, b"", (), BASE_MS + 3),
    ]
    send(bootstrap, topic, sent)
    found = rows(frame(spark, bootstrap, topic, includeHeaders="true"))
    assert [(row.key, row.value, row.headers, row.timestamp_ms) for row in found] == [
        (record.key, record.value, record.headers, record.timestamp_ms) for record in sent
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(spark: Any, bootstrap: str, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    Confluent().produce(bootstrap, topic, numbered(500), codec)
    assert values(frame(spark, bootstrap, topic)) == [str(number) for number in range(500)]


def test_one_partition_read_by_several_tasks(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(1000))
    data = frame(spark, bootstrap, topic, minPartitions=4)
    assert data.rdd.getNumPartitions() == 4
    assert values(data) == [str(number) for number in range(1000)]


def test_an_empty_topic(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    assert rows(frame(spark, bootstrap, make_topic(partitions=2))) == []


def test_a_topic_that_does_not_exist(spark: Any, bootstrap: str, topic_name: str) -> None:
    with pytest.raises(Exception, match=r"UnknownTopicOrPartition|does not host this topic-partition"):
        frame(spark, bootstrap, topic_name).count()


def test_what_was_deleted_is_data_lost(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(100))
    delete_before(bootstrap, topic, 40)
    starts = json.dumps({topic: {"0": 10}})
    with pytest.raises(Exception, match=r"failOnDataLoss|no longer available|out of range"):
        frame(spark, bootstrap, topic, startingOffsets=starts).count()
    tolerant = frame(spark, bootstrap, topic, startingOffsets=starts, failOnDataLoss="false")
    assert values(tolerant) == [str(number) for number in range(40, 100)]
    assert values(frame(spark, bootstrap, topic)) == [str(number) for number in range(40, 100)]
