"""How the scenarios read with Spark: rows as plain tuples, and streaming queries that leave what they saw."""

import os
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka import TopicPartition

from compat_tests.admin import admin_client
from compat_tests.clients import confluent
from compat_tests.clients.base import Header, Record

slow = pytest.mark.skipif("SPARK_SLOW" not in os.environ, reason="slow: `make spark` runs it")


@frozen
class Row:
    """A record as Spark sees it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    timestamp_ms: int


def options(bootstrap: str, **settings: object) -> dict[str, str]:
    """Options of Spark's source by Python's spelling: `kafka_isolation_level` is `kafka.isolation.level`."""
    named = {key.replace("_", ".") if key.startswith("kafka_") else key: str(value) for key, value in settings.items()}
    return {"kafka.bootstrap.servers": bootstrap, **named}


def frame(spark: Any, bootstrap: str, topic: str | None = None, **settings: object) -> Any:
    """A batch frame over a topic, from its beginning to its end if nothing else is said."""
    chosen = {} if topic is None else {"subscribe": topic}
    return spark.read.format("kafka").options(**options(bootstrap, **chosen, **settings)).load()


def stream(spark: Any, bootstrap: str, topic: str | None = None, **settings: object) -> Any:
    """A streaming frame over a topic, from its beginning."""
    chosen = {} if topic is None else {"subscribe": topic}
    chosen["startingOffsets"] = "earliest"
    return spark.readStream.format("kafka").options(**options(bootstrap, **{**chosen, **settings})).load()


def rows(data: Any) -> list[Row]:
    """The frame's records by partition and offset."""
    headers = "headers" in data.columns
    found = data.selectExpr(
        "partition",
        "offset",
        "key",
        "value",
        "unix_millis(timestamp) AS at",
        "headers" if headers else "null AS headers",
    ).collect()
    return sorted((_row(each) for each in found), key=lambda row: (row.partition, row.offset))


def _row(found: Any) -> Row:
    headers = tuple((name, None if value is None else bytes(value)) for name, value in found.headers or ())
    return Row(found.partition, found.offset, _bytes(found.key), _bytes(found.value), headers, found["at"])


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def values(data: Any) -> list[str]:
    """The values as text, by partition and offset."""
    return [(row.value or b"").decode() for row in rows(data)]


def send(bootstrap: str, topic: str, records: Sequence[Record]) -> None:
    """Writes the records with acks=all, in order per partition."""
    confluent.Confluent().produce(bootstrap, topic, records)


def numbered(count: int, start: int = 0, partitions: int = 1) -> list[Record]:
    """Records whose values are numbers, spread over the partitions in turn."""
    return [Record(b"%d" % n, b"k%d" % (n % 10), partition=n % partitions) for n in range(start, start + count)]


def delete_before(bootstrap: str, topic: str, offset: int, partition: int = 0) -> None:
    """Deletes the records of a partition that lie before an offset."""
    (deleted,) = admin_client(bootstrap).delete_records([TopicPartition(topic, partition, offset)]).values()
    assert deleted.result(20).low_watermark == offset
