"""Batch reads: everything that Spark's source can be told about where to begin and to end."""

from collections.abc import Callable
from typing import Any

from compat_tests.spark.reading import frame, numbered, rows, send

MakeTopic = Callable[..., str]


def test_from_the_earliest_to_the_latest(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    send(bootstrap, topic, numbered(3000, partitions=3))
    found = rows(frame(spark, bootstrap, topic))
    assert [(row.partition, row.offset) for row in found] == [(p, o) for p in range(3) for o in range(1000)]
    assert [int(row.value or b"") for row in found] == [o * 3 + p for p in range(3) for o in range(1000)]
