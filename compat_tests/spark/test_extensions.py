"""Delayed and prioritised records under Spark: all of them, none early, no query that waits for ever."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.base import Record
from compat_tests.extensions.holding import batch, tide, tidegate_only, wall_ms
from compat_tests.spark.reading import frame, numbered, options, rows, send, stream, values
from compat_tests.spark.streaming import PATIENCE_S, drain, drained, into_parquet, running
from compat_tests.waiting import eventually
from compat_tests.wire.requests import produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
PRIORITIES = ("critical", "high", "normal", "low", "background")
WEIGHTS = (50, 25, 15, 7, 3)


def test_delayed_records_reach_a_running_query_and_none_early(
    spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str
) -> None:
    topic = make_topic(partitions=2)
    arrivals: dict[int, float] = {}

    def note(found: Any, _number: int) -> None:
        for row in found.selectExpr("CAST(CAST(value AS STRING) AS INT) AS n").collect():
            assert row.n not in arrivals, f"{row.n} came twice"
            arrivals[row.n] = wall_ms()

    due_ms = {}
    with running(
        stream(spark, bootstrap, topic).writeStream.foreachBatch(note).option("checkpointLocation", checkpoint)
    ):
        for number in range(60):
            delay_ms = (0, 400, 1500)[number % 3]
            due_ms[number] = wall_ms() + delay_ms
            headers = tide(deliver_at=int(due_ms[number])) if delay_ms else ()
            send(bootstrap, topic, [Record(b"%d" % number, headers=headers, partition=number % 2)])
        eventually(lambda: set(arrivals), set(range(60)), PATIENCE_S)
    early = {number: due_ms[number] - at for number, at in arrivals.items() if at < int(due_ms[number])}
    assert early == {}


def test_what_is_not_due_keeps_nobody_waiting(
    spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str, tmp_path: Path
) -> None:
    topic = make_topic()
    query = into_parquet(stream(spark, bootstrap, topic), str(tmp_path / "out"), checkpoint)
    due = int(wall_ms()) + 4000
    delayed = [Record(b"%d" % number, headers=tide(deliver_at=due)) for number in range(100, 120)]
    send(bootstrap, topic, [*numbered(100), *delayed, Record(b"far", headers=tide(delay=3_600_000))])
    assert len(values(frame(spark, bootstrap, topic))) in ((100,) if wall_ms() < due else (100, 120))
    drain(query)
    time.sleep(max(0.0, (due - wall_ms()) / 1000))
    eventually(lambda: len(values(frame(spark, bootstrap, topic))), 120, 30)
    drain(query)
    found = spark.read.parquet(str(tmp_path / "out")).selectExpr("CAST(value AS STRING) AS v").collect()
    assert Counter(int(row.v) for row in found) == Counter(range(120))


def test_sparks_own_sink_delays_records(spark: Any, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    data = spark.range(20).selectExpr(
        "CAST(id AS STRING) AS value",
        "CASE WHEN id % 2 = 0 THEN array(struct('tide-delay' AS key, CAST('1000' AS BINARY) AS value)) END AS headers",
    )
    writer = data.write.format("kafka").options(**options(bootstrap, topic=topic, includeHeaders="true"))
    started_ms = wall_ms()
    writer.save()
    eventually(lambda: len(values(frame(spark, bootstrap, topic))), 20, 30)
    assert wall_ms() - started_ms >= 1000
    found = rows(frame(spark, bootstrap, topic, includeHeaders="true"))
    assert {row.headers for row in found} == {(), (("__tide-delay", b"1000"),)}
    assert sorted(int(row.value or b"") for row in found) == list(range(20))


@pytest.fixture
def prioritised(bootstrap: str, make_topic: MakeTopic) -> str:
    """A topic whose five lanes hold 200 records each, that nobody has read."""
    topic = make_topic(priority_enable="true")
    for priority in reversed(PRIORITIES):
        records = [Record(f"{priority} {n}".encode(), b"k", tide(priority=priority)) for n in range(200)]
        assert produced(bootstrap, produce(topic, batch(records))).error_code == 0
    return topic


def everything() -> list[str]:
    return sorted(f"{priority} {number}" for priority in PRIORITIES for number in range(200))


def test_a_batch_has_everything_by_weight(spark: Any, bootstrap: str, prioritised: str) -> None:
    found = values(frame(spark, bootstrap, prioritised))
    assert sorted(found) == everything()
    lanes = [value.split()[0] for value in found]
    # As long as every lane has something: the first has given its 200 after 400.
    assert [lanes[:400].count(each) / 4 for each in PRIORITIES] == pytest.approx(WEIGHTS, abs=2)
    for priority in PRIORITIES:
        own = [value for value in found if value.startswith(priority)]
        assert own == [f"{priority} {number}" for number in range(200)]


def test_a_split_batch_has_everything(spark: Any, bootstrap: str, prioritised: str) -> None:
    assert sorted(values(frame(spark, bootstrap, prioritised, minPartitions=4))) == everything()


def test_each_micro_batch_by_weight_and_what_is_urgent_overtakes(
    spark: Any, bootstrap: str, prioritised: str, checkpoint: str
) -> None:
    seen: list[list[str]] = []

    def note(found: list[Any]) -> None:
        seen.append([row.value.decode() for row in found])
        if len(seen) == 1:
            send(bootstrap, prioritised, [Record(b"urgent", headers=tide(priority="critical"))])

    # The lanes take turns of 100 records in all, so two turns show the weights exactly.
    data = stream(spark, bootstrap, prioritised, maxOffsetsPerTrigger=200)
    drained(data, checkpoint, note)
    drained(data, checkpoint, note)
    assert sorted(value for found in seen for value in found) == sorted([*everything(), "urgent"])
    lanes = Counter(value.split()[0] for value in seen[0])
    assert [lanes[each] / 2 for each in PRIORITIES] == pytest.approx(WEIGHTS, abs=2)
    flat = [value for found in seen for value in found]
    assert flat.index("urgent") < 900, "it came after what nobody had read when it was sent"


def test_delay_and_priority_together(spark: Any, bootstrap: str, make_topic: MakeTopic, checkpoint: str) -> None:
    topic = make_topic(priority_enable="true")
    seen: list[str] = []
    data = stream(spark, bootstrap, topic)
    note = lambda found: seen.extend(row.value.decode() for row in found)  # noqa: E731
    records = [Record(b"%d" % n, headers=tide(priority=n % 5, delay=500 * (n % 4))) for n in range(100)]
    send(bootstrap, topic, records)
    drained(data, checkpoint, note)
    eventually(lambda: frame(spark, bootstrap, topic).count(), 100, 30)
    drained(data, checkpoint, note)
    assert sorted(int(value) for value in seen) == list(range(100))
