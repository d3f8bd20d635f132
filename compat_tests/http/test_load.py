"""The load tests that operators are given run against a broker, through either door, and fail where they should."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests import brokers
from compat_tests.waiting import eventually
from tidegate import testing

pytestmark = pytest.mark.skipif(brokers.target() == "kafka", reason="they go through other doors than Kafka's")
ROOT = Path(__file__).parents[2]
LOAD = ROOT / "deploy" / "load"
GRPC = {"grpc.port": "-1"}
FAILED = 99
"""k6's status where a threshold does not hold."""


@pytest.fixture(scope="module")
def k6() -> str:
    found = shutil.which("k6", path=f"{ROOT / '.cache' / 'k6'}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("k6 is not here (make setup builds it where there is Go)")
    return found


def command(k6: str, script: str, **settings: object) -> list[str]:
    given = {"DURATION": "4s", "RATE": 5, "P95_MS": 60_000, "READERS": 1, "STREAMS": 1, **settings}
    options = [option for name, value in given.items() for option in ("-e", f"{name}={value}")]
    return [k6, "run", "--no-color", "--no-usage-report", *options, str(LOAD / script)]


def test_the_load_test_writes_reads_and_delays_without_loss(k6: str) -> None:
    with testing.broker(timeout_s=60) as broker:
        done = subprocess.run(
            command(k6, "k6.js", URL=broker.http_url), capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ records are written" in done.stdout
    assert "✓ a delayed record is taken" in done.stdout
    assert "✓ everything can be read again" in done.stdout


def test_the_load_test_by_grpc_writes_and_reads_without_loss(k6: str) -> None:
    with testing.broker(GRPC, timeout_s=60) as broker:
        asked = command(k6, "k6-grpc.js", ADDRESS=broker.grpc_address)
        done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ records are written" in done.stdout
    assert "✓ records of streams are written" in done.stdout
    assert "records_read" in done.stdout


@pytest.mark.parametrize(("script", "topic"), [("k6.js", "k6-load"), ("k6-grpc.js", "k6-grpc")])
def test_records_that_are_gone_make_it_fail(k6: str, script: str, topic: str) -> None:
    with testing.broker(GRPC, timeout_s=60) as broker:
        asked = command(k6, script, URL=broker.http_url, ADDRESS=broker.grpc_address, PARTITIONS=1, STREAMS=0)
        with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            forget(broker.bootstrap, TopicPartition(topic, 0, 60))
            told, _ = running.communicate(timeout=300)
    assert running.returncode == FAILED, told
    assert "records are missing" in told


def forget(bootstrap: str, before: TopicPartition) -> None:
    """Once there are so many records, those before are deleted."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "looks", "log_level": 0})
    eventually(lambda: _end(consumer, before) > before.offset, expected=True, seconds=60)
    consumer.close()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_records([before]).values():
        deleted.result(30)


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    try:
        return int(consumer.get_watermark_offsets(partition, timeout=5)[1])
    except KafkaException:
        return 0
