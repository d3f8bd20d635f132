"""Exactly once over kill -9 of an executor, the broker and the driver, on a standalone cluster under load."""

from pathlib import Path
from typing import Any

import pytest

from compat_tests import brokers
from compat_tests.spark.kills import VICTIMS, faults, playground
from compat_tests.spark.reading import slow

pytestmark = [
    slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(brokers.target() == "kafka", reason="Kafka's own restarts are its own business"),
]


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_each_record_is_there_once_whoever_is_killed(spark: Any, tmp_path: Path, kind: str) -> None:
    with playground(tmp_path, kind, seed=1) as kills:
        written = kills.run(VICTIMS)
    assert len(written) > 100
    assert faults(spark, kills.place.address, kind, written) == []
