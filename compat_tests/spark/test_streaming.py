"""Structured streaming: each record once, over micro-batches, restarts and new partitions."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka.admin import NewPartitions

from compat_tests.admin import admin_client, wait_for_partitions
from compat_tests.clients.base import Record
from compat_tests.spark.reading import numbered, send, stream
from compat_tests.spark.streaming import PATIENCE_S, drain, into_parquet, running
from compat_tests.waiting import eventually

MakeTopic = Callable[..., str]


def written(spark: Any, folder: Path) -> Counter[int]:
    """How often each number stands in the Parquet files that Spark counts as written."""
    if not (folder / "_spark_metadata").exists():
        return Counter()
    rows = spark.read.schema("value binary").parquet(str(folder)).selectExpr("CAST(value AS STRING) AS v").collect()
    return Counter(int(row.v) for row in rows)


def once(count: int) -> Counter[int]:
    return Counter(range(count))


def test_what_is_there_then_what_came_since(
    spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    folder = tmp_path / "out"
    send(bootstrap, topic, numbered(400, partitions=2))
    query = into_parquet(stream(spark, bootstrap, topic), str(folder), checkpoint)
    drain(query)
    assert written(spark, folder) == once(400)
    assert drain(query) == []
    send(bootstrap, topic, numbered(100, start=400, partitions=2))
    drain(query)
    assert written(spark, folder) == once(500)


def test_at_most_so_many_per_micro_batch(
    spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    send(bootstrap, topic, numbered(250, partitions=2))
    data = stream(spark, bootstrap, topic, maxOffsetsPerTrigger=100)
    progress = drain(into_parquet(data, str(tmp_path / "out"), checkpoint))
    assert [each["numInputRows"] for each in progress] == [100, 100, 50]
    assert written(spark, tmp_path / "out") == once(250)


def test_a_running_query_sees_new_records_and_new_partitions(
    spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str, tmp_path: Path
) -> None:
    topic = make_topic()
    folder = tmp_path / "out"
    data = stream(spark, bootstrap, topic, kafka_metadata_max_age_ms=500)
    send(bootstrap, topic, numbered(10))
    with running(into_parquet(data, str(folder), checkpoint)):
        eventually(lambda: written(spark, folder), once(10), PATIENCE_S)
        admin_client(bootstrap).create_partitions([NewPartitions(topic, 3)])[topic].result(20)
        wait_for_partitions(bootstrap, topic, 3)
        send(bootstrap, topic, [Record(b"%d" % number, partition=number % 3) for number in range(10, 40)])
        eventually(lambda: written(spark, folder), once(40), PATIENCE_S)


def test_lag_is_right(spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str, tmp_path: Path) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(60))
    progress = drain(
        into_parquet(stream(spark, bootstrap, topic, maxOffsetsPerTrigger=40), str(tmp_path / "out"), checkpoint)
    )
    lags = [int(float(each["sources"][0]["metrics"]["maxOffsetsBehindLatest"])) for each in progress]
    assert lags == [20, 0]
