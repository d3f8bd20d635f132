"""Spark's sink: batch and streaming writes, with keys, headers, partitions and topics from columns."""

from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.clients.confluent import Confluent
from compat_tests.spark.reading import frame, numbered, options, send, stream, values
from compat_tests.spark.streaming import drain

MakeTopic = Callable[..., str]
HEADERS = "array(struct('a' AS key, CAST('1' AS BINARY) AS value), struct('n' AS key, CAST(NULL AS BINARY) AS value))"


def test_keys_headers_and_partitions(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    data = spark.range(30).selectExpr(
        "CAST(CONCAT('k', id) AS BINARY) AS key",
        "CASE WHEN id = 7 THEN NULL ELSE CAST(id AS STRING) END AS value",
        f"{HEADERS} AS headers",
        "CAST(id % 3 AS INT) AS partition",
    )
    data.write.format("kafka").options(**options(bootstrap, topic=topic, includeHeaders="true")).save()
    for partition in range(3):
        found = Confluent().consume(bootstrap, topic, 10, partition=partition)
        assert sorted((record.key or b"", record.value) for record in found) == sorted(
            (b"k%d" % n, None if n == 7 else b"%d" % n) for n in range(partition, 30, 3)
        )
        assert {record.headers for record in found} == {(("a", b"1"), ("n", None))}


def test_topics_from_a_column(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    first, second = make_topic(), make_topic()
    data = spark.createDataFrame([(first, "one"), (second, "two"), (first, "three")], "topic string, value string")
    data.coalesce(1).write.format("kafka").options(**options(bootstrap)).save()
    assert values(frame(spark, bootstrap, first)) == ["one", "three"]
    assert values(frame(spark, bootstrap, second)) == ["two"]


def test_from_topic_to_topic_as_a_stream(spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str) -> None:
    source, target = make_topic(partitions=2), make_topic()
    send(bootstrap, source, numbered(200, partitions=2))
    data = stream(spark, bootstrap, source, includeHeaders="true", maxOffsetsPerTrigger=80)
    query = data.select("key", "value", "headers").writeStream.format("kafka")
    query = query.options(**options(bootstrap, topic=target, checkpointLocation=checkpoint))
    drain(query)
    send(bootstrap, source, numbered(50, start=200, partitions=2))
    drain(query)
    assert sorted(int(value) for value in values(frame(spark, bootstrap, target))) == list(range(250))


def test_a_record_that_is_too_large_fails_the_write(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes=10_000)
    data = spark.range(1).selectExpr("repeat('x', 20000) AS value")
    with pytest.raises(Exception, match="RecordTooLargeException"):
        data.write.format("kafka").options(**options(bootstrap, topic=topic)).save()
    assert values(frame(spark, bootstrap, topic)) == []
