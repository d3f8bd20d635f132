"""One small Spark for all scenarios of this folder: to start another would take longer than most of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests import brokers
from tools.pipelines.session import spark_session

SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
    # A plan of a few hundred rows is interpreted in less time than it would be compiled in.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.pollingDelay": "20ms",
    "spark.cleaner.referenceTracking.cleanCheckpoints": "false",
}


NEEDS = ("s3", "delta", "iceberg")


# The cleaner works at once; nothing is deleted for its age but where a topic says so.
BROKER = {
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.retention.ms": "-1",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="package")
def bootstrap() -> Iterator[str]:
    """The address of the broker that all scenarios with Spark share."""
    with brokers.broker(BROKER) as address:
        yield address


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session; its files are thrown away with pytest's own."""
    place = tmp_path_factory.mktemp("spark")
    before = os.environ.get("SPARK_LOCAL_DIRS")
    os.environ["SPARK_LOCAL_DIRS"] = str(place / "local")
    settings = {**SETTINGS, "spark.sql.warehouse.dir": str(place / "warehouse")}
    session = spark_session("compat-tests", settings, NEEDS)
    try:
        yield session
    finally:
        stop(session)
        if before is None:
            del os.environ["SPARK_LOCAL_DIRS"]
        else:
            os.environ["SPARK_LOCAL_DIRS"] = before


def stop(session: Any) -> None:
    """Ends the JVM too: a session that is only stopped keeps its memory until Python ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    session.stop()
    if gateway is not None:
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is not None:
        process.stdin.close()
        process.wait(20)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A place for a streaming query's checkpoint."""
    return str(tmp_path / "checkpoint")
