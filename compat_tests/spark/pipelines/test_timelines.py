"""`timelines`: tables out of the events that a broker wrote about real records."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests import brokers
from compat_tests.admin import create_topic
from compat_tests.clients.base import Record
from compat_tests.clients.confluent import consumer_for, read
from compat_tests.extensions.holding import tide, tidegate_only
from compat_tests.spark.pipelines.running import committed, run
from compat_tests.spark.reading import frame, send
from compat_tests.waiting import eventually
from tools.pipelines.options import PipelineError

pytestmark = tidegate_only


def in_a_trace(number: int) -> tuple[str, bytes]:
    """The header by which a record is traced in a trace of its own."""
    return "traceparent", f"00-{number + 1:032x}-{number + 1:016x}-01".encode()


@pytest.fixture(scope="module")
def traced() -> Iterator[str]:
    """A broker whose topics are traced: five records and five delayed ones, committed, and two unread."""
    with brokers.broker({"log.trace.sample.per.second": "0"}) as address:
        create_topic(address, "read")
        create_topic(address, "unread")
        delayed = [Record(b"late", b"d%d" % n, (*tide(delay=700), in_a_trace(n))) for n in range(5)]
        send(address, "read", [Record(b"now", b"n%d" % n, (in_a_trace(10 + n),)) for n in range(5)])
        send(address, "read", delayed)
        send(address, "unread", [Record(b"x", b"u%d" % n, (in_a_trace(20 + n),)) for n in range(2)])
        consumer = consumer_for(address, group_id="readers", auto_offset_reset="earliest")
        consumer.subscribe(["read"])
        assert len(read(consumer, 10, seconds=60)) == 10
        consumer.commit(asynchronous=False, offsets=consumer.position(consumer.assignment()))
        consumer.close()
        yield address


def test_latencies_stuck_and_slowest(spark: Any, traced: str, tmp_path: Path) -> None:
    def events() -> dict[str, int]:
        found = frame(spark, traced, "__trace_events").selectExpr(
            "get_json_object(CAST(value AS STRING), '$.event') AS e"
        )
        return {row.e: row["count"] for row in found.groupBy("e").count().collect()}

    wanted = {
        "publish.received": 12,
        "publish.persisted": 12,
        "delay.scheduled": 5,
        "delay.ready": 5,
        "consume.fetched": 10,
        "consume.committed": 10,
    }
    eventually(events, wanted, 60)
    assert run("timelines", traced, output=str(tmp_path), stuck_seconds=0, group="watchers") == 0
    assert sum(committed(traced, "watchers").values()) >= sum(wanted.values())

    latencies = spark.read.parquet(str(tmp_path / "latencies")).collect()
    counted: dict[tuple[str, str], int] = {}
    for row in latencies:
        counted[row.topic, row.stage] = counted.get((row.topic, row.stage), 0) + row.records
        assert 0 <= row.p50 <= row.p95 <= row.p99 <= row.max
    assert counted == {
        ("read", "publish"): 10,
        ("read", "hold"): 5,
        ("read", "deliver"): 10,
        ("read", "settle"): 10,
        ("unread", "publish"): 2,
    }
    assert all(row.p50 >= 690_000 for row in latencies if row.stage == "hold")
    overall = {(row.topic, row.stage): row.records for row in spark.read.parquet(str(tmp_path / "stages")).collect()}
    assert overall == {**counted, ("read", "total"): 10}
    stuck = spark.read.parquet(str(tmp_path / "stuck")).collect()
    assert sorted((row.topic, row.key, row.problem) for row in stuck) == [
        ("unread", "u0", "never fetched"),
        ("unread", "u1", "never fetched"),
    ]
    slowest = spark.read.parquet(str(tmp_path / "slowest")).orderBy("total", ascending=False).collect()
    # All were committed at once, so those sent first took longest; what nobody read is not among them.
    assert {row.key for row in slowest[:5]} == {f"n{n}" for n in range(5)}
    assert len(slowest) == 10
    page = (tmp_path / "report.html").read_text()
    assert "<h3>hold (5 records)</h3>" in page
    assert "<span>stuck</span><b>2</b>" in page
    assert "unread-0 @ 1" in page


def test_nothing_traced(spark: Any, bootstrap: str, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="the broker has no topic __none: nothing was traced yet"):
        run("timelines", bootstrap, output=str(tmp_path), events="__none")
