"""`usage`: each window counted once, over several runs, with what is late told apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.base import Record
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.reading import send
from tools.pipelines.options import UsageError

MakeTopic = Callable[..., str]
BASE_MS = 1_760_000_400_000
MINUTE_MS = 60_000


def record(minute: int, key: bytes | None, partition: int = 0, value: bytes = b"12345") -> Record:
    return Record(value, key, (), BASE_MS + minute * MINUTE_MS, partition)


def rows(spark: Any, folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    found = spark.read.parquet(str(folder / name))
    minute = f"CAST((unix_millis(start) - {BASE_MS}) / {MINUTE_MS} AS INT) AS minute"
    return sorted(tuple(row) for row in found.selectExpr(minute, *columns).collect())


def test_windows_are_counted_once_over_several_runs(
    spark: Any, bootstrap: str, make_topic: MakeTopic, topic_name: str, tmp_path: Path
) -> None:
    topic = make_topic(partitions=2)
    options = {"output": str(tmp_path), "topics": [topic], "watermark": "1 minute", "hot_keys": 2, "group": topic_name}
    sent = [record(0, b"hot")] * 6 + [record(0, b"warm", 1)] * 2 + [record(0, b"cold", 1), record(0, None, 1)]
    send(bootstrap, topic, [*sent, record(1, b"\xff"), record(5, b"later")])
    assert run("usage", bootstrap, **options) == 0
    counted = rows(spark, tmp_path, "partitions", "partition", "records", "bytes", "keys")
    assert counted == [(0, 0, 6, 6 * 8, 1), (0, 1, 4, 2 * 9 + 9 + 5, 2), (1, 0, 1, 6, 1)]
    # The last one's window is not done; the report tells of it all the same.
    assert "<span>not yet done</span><b>1</b>" in (tmp_path / "report.html").read_text()
    assert "<span>records</span><b>12</b>" in (tmp_path / "report.html").read_text()
    assert rows(spark, tmp_path, "keys", "key_text", "records", "place") == [
        (0, "hot", 6, 1),
        (0, "warm", 2, 2),
        (1, "0xFF", 1, 1),
    ]
    # One that is in time, one that is late, and one that moves the watermark on.
    send(bootstrap, topic, [record(5, b"later"), record(0, b"late"), record(9, b"end", 1)])
    run("usage", bootstrap, **options)
    counted += [(5, 0, 2, 20, 1)]
    assert rows(spark, tmp_path, "partitions", "partition", "records", "bytes", "keys") == counted
    assert committed(bootstrap, topic_name) == {(topic, 0): 10, (topic, 1): 5}
    page = (tmp_path / "report.html").read_text()
    assert page.count("<polyline") == 2
    assert "<b>hot</b>" in page
    assert "<span>too late</span><b>1</b>" in page
    assert f"<h2>Partitions of {topic} over time</h2>" in page


def test_no_topics(spark: Any, bootstrap: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--topics, --pattern or --tenants"):
        run("usage", bootstrap, output=str(tmp_path))


def test_a_report_on_new_records_is_not_empty(
    bootstrap: str, make_topic: MakeTopic, topic_name: str, tmp_path: Path
) -> None:
    topic = make_topic(partitions=1)
    send(bootstrap, topic, [record(0, b"hot")] * 3)
    assert run("usage", bootstrap, output=str(tmp_path), topics=[topic]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "<span>records</span><b>3</b>" in page
    assert "<b>hot</b>" in page
    assert "they may still grow" in page


@pytest.mark.parametrize("option", ["window", "watermark"])
def test_what_is_no_length_of_time_is_told_before_spark_starts(option: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"--{option} is 'banana'"):
        run("usage", "127.0.0.1:1", output=str(tmp_path), topics=["t"], **{option: "banana"})
