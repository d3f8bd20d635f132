"""Exactly once over kill -9: of the broker between two runs and under a running query, and of Spark itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests import brokers
from compat_tests.admin import create_topic
from compat_tests.groups.broker import MortalBroker, mortal_broker
from compat_tests.spark.conftest import SETTINGS
from compat_tests.spark.reading import numbered, send, slow, stream
from compat_tests.spark.streaming import PATIENCE_S, drain, into_parquet, running
from compat_tests.spark.test_streaming import once, written
from compat_tests.waiting import eventually

TOPIC = "orders"


@pytest.fixture
def mortal() -> Iterator[MortalBroker]:
    """A broker of this test's own, with a topic."""
    with mortal_broker({}) as broker:
        create_topic(broker.bootstrap, TOPIC, 2)
        yield broker


needs_tidegate = pytest.mark.skipif(brokers.target() == "kafka", reason="Kafka's own restarts are its own business")


@needs_tidegate
def test_the_broker_dies_between_two_runs(spark: Any, mortal: MortalBroker, checkpoint: str, tmp_path: Path) -> None:
    query = into_parquet(stream(spark, mortal.bootstrap, TOPIC), str(tmp_path / "out"), checkpoint)
    send(mortal.bootstrap, TOPIC, numbered(300, partitions=2))
    drain(query)
    send(mortal.bootstrap, TOPIC, numbered(100, start=300, partitions=2))
    mortal.restart()
    send(mortal.bootstrap, TOPIC, numbered(100, start=400, partitions=2))
    drain(query)
    assert written(spark, tmp_path / "out") == once(500)


@needs_tidegate
def test_the_broker_dies_under_a_running_query(
    spark: Any, mortal: MortalBroker, checkpoint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    data = stream(spark, mortal.bootstrap, TOPIC, maxOffsetsPerTrigger=50)
    with running(into_parquet(data, str(folder), checkpoint)) as query:
        for round_number in range(2):
            send(mortal.bootstrap, TOPIC, numbered(200, start=200 * round_number, partitions=2))
            mortal.restart()
        eventually(lambda: written(spark, folder), once(400), PATIENCE_S)
        assert query.exception() is None


@slow
def test_spark_itself_is_killed(spark: Any, bootstrap: str, topic_name: str, checkpoint: str, tmp_path: Path) -> None:
    create_topic(bootstrap, topic_name, 2)
    send(bootstrap, topic_name, numbered(2000, partitions=2))
    folder = tmp_path / "out"
    victim = subprocess.Popen(
        [sys.executable, "-m", __name__, bootstrap, topic_name, str(folder), checkpoint],
        cwd=brokers.PROJECT_ROOT,
        start_new_session=True,  # Spark's JVM is another process: both are to die at once
    )
    try:
        wait_for_files(folder, victim)
    finally:
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()
    before = written(spark, folder)
    assert 0 < len(before) < 2000
    assert set(before.values()) == {1}
    drain(into_parquet(stream(spark, bootstrap, topic_name), str(folder), checkpoint))
    assert written(spark, folder) == once(2000)


def wait_for_files(folder: Path, victim: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(list(folder.glob("_spark_metadata/[0-9]*"))) < 3:
        assert victim.poll() is None, "Spark ended by itself"
        assert time.monotonic() < deadline, "Spark wrote nothing"
        time.sleep(0.05)


def main(bootstrap: str, topic: str, folder: str, checkpoint: str) -> None:
    """The query that is killed; in a Spark of its own."""
    from tools.pipelines.session import spark_session

    session = spark_session("victim", SETTINGS)
    data = stream(session, bootstrap, topic, maxOffsetsPerTrigger=40)
    drain(into_parquet(data, folder, checkpoint))


if __name__ == "__main__":
    main(*sys.argv[1:])
