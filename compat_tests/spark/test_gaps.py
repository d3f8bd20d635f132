"""Offsets that hold no record for Spark: transaction markers, aborted records, what compaction and retention took."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.base import Record
from compat_tests.spark.reading import delete_before, frame, numbered, rows, send, stream, values
from compat_tests.spark.streaming import drain, drained, into_parquet
from compat_tests.transactions.writers import confluent, confluent_producer
from compat_tests.waiting import eventually
from compat_tests.wire.requests import batches

MakeTopic = Callable[..., str]
READ_COMMITTED = {"kafka_isolation_level": "read_committed"}


@pytest.fixture
def gappy(bootstrap: str, make_topic: MakeTopic) -> str:
    """Offsets 0-2 committed, 3 marker, 4-5 aborted, 6 marker, 7 committed, 8 marker, 9-10 aborted, 11 marker."""
    topic = make_topic()
    written = [(["a", "b", "c"], True), (["x", "y"], False), (["d"], True), (["z", "z"], False)]
    confluent(bootstrap, topic, topic, written)
    return topic


def test_committed_records_alone(spark: Any, bootstrap: str, gappy: str) -> None:
    found = rows(frame(spark, bootstrap, gappy, **READ_COMMITTED))
    assert [(row.offset, row.value) for row in found] == [(0, b"a"), (1, b"b"), (2, b"c"), (7, b"d")]


def test_uncommitted_records_too(spark: Any, bootstrap: str, gappy: str) -> None:
    found = rows(frame(spark, bootstrap, gappy))
    assert [row.offset for row in found] == [0, 1, 2, 4, 5, 7, 9, 10]


@pytest.mark.parametrize(
    ("start", "end", "wanted"), [(3, 7, []), (3, 8, ["d"]), (5, 6, []), (8, 12, []), (2, 4, ["c"]), (11, 12, [])]
)
def test_ranges_that_begin_or_end_in_a_gap(
    spark: Any, bootstrap: str, gappy: str, start: int, end: int, wanted: list[str]
) -> None:
    chosen = {"startingOffsets": {gappy: {"0": start}}, "endingOffsets": {gappy: {"0": end}}}
    written = {key: json.dumps(value) for key, value in chosen.items()}
    assert values(frame(spark, bootstrap, gappy, **READ_COMMITTED, **written)) == wanted


def test_micro_batches_over_gaps(spark: Any, bootstrap: str, gappy: str, checkpoint: str) -> None:
    seen: list[str] = []
    data = stream(spark, bootstrap, gappy, maxOffsetsPerTrigger=2, **READ_COMMITTED)
    drained(data, checkpoint, lambda found: seen.extend(row.value.decode() for row in found))
    assert seen == ["a", "b", "c", "d"]


def test_a_read_ends_before_an_open_transaction(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, numbered(3))
    producer = confluent_producer(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(20) == 0
    send(bootstrap, topic, [Record(b"behind")])
    assert values(frame(spark, bootstrap, topic, **READ_COMMITTED)) == ["0", "1", "2"]
    assert values(frame(spark, bootstrap, topic)) == ["0", "1", "2", "open", "behind"]
    producer.commit_transaction(20)
    eventually(lambda: values(frame(spark, bootstrap, topic, **READ_COMMITTED)), ["0", "1", "2", "open", "behind"], 30)


def test_after_compaction(spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str) -> None:
    settings = {"segment_ms": 100, "min_cleanable_dirty_ratio": 0.01}
    topic = make_topic(cleanup_policy="compact", **settings)
    send(bootstrap, topic, numbered(200))
    send(bootstrap, topic, [Record(b"last", b"end")])

    def compacted() -> bool:
        send(bootstrap, topic, [Record(b"last", b"end")])  # what rolls the segment, and is never compacted itself
        kept = [value for each in batches(bootstrap, topic) for value in each.values]
        return sum(value != b"last" for value in kept) == 10

    eventually(compacted, True, 60)
    wanted = [str(number) for number in range(190, 200)]
    assert [value for value in values(frame(spark, bootstrap, topic)) if value != "last"] == wanted
    seen: list[str] = []
    data = stream(spark, bootstrap, topic, maxOffsetsPerTrigger=70)
    drained(data, checkpoint, lambda found: seen.extend(row.value.decode() for row in found))
    assert [value for value in seen if value != "last"] == wanted


def test_a_checkpoint_that_retention_overtook(
    spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str, tmp_path: Path
) -> None:
    topic = make_topic()
    folder = str(tmp_path / "out")
    send(bootstrap, topic, numbered(20))
    drain(into_parquet(stream(spark, bootstrap, topic), folder, checkpoint))
    send(bootstrap, topic, numbered(20, start=20))
    delete_before(bootstrap, topic, 30)
    with pytest.raises(Exception, match=r"failOnDataLoss|data loss|missed|lost"):
        drain(into_parquet(stream(spark, bootstrap, topic), folder, checkpoint))
    drain(into_parquet(stream(spark, bootstrap, topic, failOnDataLoss="false"), folder, checkpoint))
    found = spark.read.parquet(folder).selectExpr("CAST(CAST(value AS STRING) AS INT) AS n").collect()
    assert sorted(row.n for row in found) == [*range(20), *range(30, 40)]


def test_what_retention_by_time_has_left(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms=1000, segment_ms=100)
    send(bootstrap, topic, numbered(50))

    def first() -> int | None:
        send(bootstrap, topic, [Record(b"fresh")])
        found = batches(bootstrap, topic)
        return found[0].base_offset if found else None

    eventually(lambda: (first() or 0) >= 50, True, 60)
    found = values(frame(spark, bootstrap, topic, failOnDataLoss="false"))
    assert set(found) <= {"fresh"}
