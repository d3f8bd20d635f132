"""`backfill`: what was archived is in a topic again, once, also when the job was cut off in the middle."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from compat_tests.admin import create_topic
from compat_tests.clients import confluent
from compat_tests.clients.base import Consumed, Record
from compat_tests.conftest import unique_name
from compat_tests.spark.pipelines.running import committed as committed_as
from compat_tests.spark.pipelines.running import run
from compat_tests.spark.reading import send
from tools.pipelines.options import PipelineError, UsageError
from tools.pipelines.replay import Target, replay

MakeTopic = Callable[..., str]
BASE_MS = 1_760_000_400_000
HEADERS = (("a", b"1"), ("a", None))


@pytest.fixture(scope="module")
def source(spark: Any, bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A topic of two partitions, and its archive."""
    topic, folder = unique_name("backfilled"), str(tmp_path_factory.mktemp("backfill") / "archive")
    create_topic(bootstrap, topic, 2)
    send(
        bootstrap,
        topic,
        [Record(b"%d" % n if n else None, b"k%d" % n, HEADERS, BASE_MS + n * 60_000, n % 2) for n in range(100)],
    )
    run("archive", bootstrap, archive=folder, topics=[topic])
    return topic, folder


def committed(bootstrap: str, topic: str, partition: int) -> list[Consumed]:
    """The committed records of a partition."""
    consumer = confluent.consumer_for(bootstrap, isolation_level="read_committed", enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[Consumed] = []
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error():
            break  # its end
        if message is not None:
            found.append(confluent._consumed(message))
    consumer.close()
    return found


def numbers(bootstrap: str, topic: str) -> list[list[int]]:
    return [[int(each.value or b"0") for each in committed(bootstrap, topic, number)] for number in range(2)]


EVEN_AND_ODD = [list(range(0, 100, 2)), list(range(1, 100, 2))]


def test_keys_headers_timestamps_and_order_are_kept(
    spark: Any, bootstrap: str, source: tuple[str, str], make_topic: MakeTopic
) -> None:
    target = make_topic(partitions=2)
    options = {"archive": source[1], "topic": source[0], "to": target, "shift_ms": 5, "transaction_records": 7}
    assert run("backfill", bootstrap, **options) == 0
    found = committed(bootstrap, target, 1)
    assert [(each.key, each.value, each.headers, each.timestamp_ms) for each in found] == [
        (b"k%d" % n, b"%d" % n, HEADERS, BASE_MS + n * 60_000 + 5) for n in range(1, 100, 2)
    ]
    run("backfill", bootstrap, **options)
    assert numbers(bootstrap, target) == EVEN_AND_ODD
    assert committed(bootstrap, target, 0)[0].value is None


def test_a_job_that_is_cut_off_goes_on_without_duplicates(
    spark: Any, bootstrap: str, source: tuple[str, str], make_topic: MakeTopic
) -> None:
    target = make_topic(partitions=2)
    name = f"job-{target}"

    def broken_rows() -> Any:
        rows = spark.read.parquet(source[1]).where("partition = 1").orderBy("offset")
        for row in rows.selectExpr("*", "unix_millis(timestamp) AS timestamp_ms").collect():
            if row.offset == 30:
                raise RuntimeError("the executor is lost")
            yield row

    how = Target(name, target, {"bootstrap.servers": bootstrap}, transaction_records=8)
    with pytest.raises(RuntimeError, match="the executor is lost"):
        list(replay(how, broken_rows()))
    assert [len(each) for each in numbers(bootstrap, target)] == [0, 24]
    run("backfill", bootstrap, archive=source[1], topic=source[0], to=target, name=name)
    assert numbers(bootstrap, target) == EVEN_AND_ODD


def test_a_range_of_time_at_a_rate_by_key(
    spark: Any, bootstrap: str, source: tuple[str, str], make_topic: MakeTopic, tmp_path: Path
) -> None:
    target = make_topic(partitions=3)
    started = time.monotonic()
    run(
        "backfill",
        bootstrap,
        archive=source[1],
        topic=source[0],
        to=target,
        since="2025-10-09T09:10",
        until=str(BASE_MS + 50 * 60_000),
        rate=40,
        partitioning="key",
        metrics_file=str(tmp_path / "metrics"),
        group=f"{target}-watched",
    )
    assert time.monotonic() - started > 0.7
    found = [each for number in range(3) for each in committed(bootstrap, target, number)]
    assert sorted(int(each.value or b"") for each in found) == list(range(10, 50))
    assert f'pipeline="backfill",topic="{source[0]}",partition="0"' in (tmp_path / "metrics").read_text()
    assert committed_as(bootstrap, f"{target}-watched") == {(source[0], 0): 25, (source[0], 1): 25}


def test_what_cannot_be(spark: Any, bootstrap: str, source: tuple[str, str], make_topic: MakeTopic) -> None:
    topic, folder = source
    with pytest.raises(PipelineError, match="has 1 partitions"):
        run("backfill", bootstrap, archive=folder, topic=topic, to=make_topic())
    with pytest.raises(PipelineError, match="has no topic other"):
        run("backfill", bootstrap, archive=folder, topic="other", to=topic)
    with pytest.raises(UsageError, match="--since is 'now'"):
        run("backfill", bootstrap, archive=folder, topic=topic, to=topic, since="now")
