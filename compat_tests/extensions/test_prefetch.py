"""Overtaking consumers that have begun: with a small prefetch an urgent record passes all but what was prefetched."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from compat_tests.clients import confluent
from compat_tests.clients.base import Record
from compat_tests.extensions.holding import batch, tide, tidegate_only
from compat_tests.java.program import java_program
from compat_tests.wire.requests import produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
RECORDS, FETCH_BYTES = 5_000, 2_000
OVERTAKEN_AT_MOST = 200
"""Some fetches of at most 2,000 bytes, with records of 100 bytes."""


def fill(bootstrap: str, topic: str) -> None:
    records = [Record(b"normal %d " % number + b"." * 80) for number in range(RECORDS)]
    for start in range(0, RECORDS, 1000):
        assert produced(bootstrap, produce(topic, batch(records[start : start + 1000]))).error_code == 0


def send_urgent(bootstrap: str, topic: str) -> None:
    urgent = batch([Record(b"urgent", b"k", tide(priority="critical"))])
    assert produced(bootstrap, produce(topic, urgent)).error_code == 0


def test_confluent_with_few_queued(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    fill(bootstrap, topic)
    consumer = confluent.consumer_for(
        bootstrap,
        queued_min_messages=1,
        fetch_queue_backoff_ms=20,
        message_max_bytes=FETCH_BYTES,
        fetch_max_bytes=FETCH_BYTES,
        fetch_message_max_bytes=FETCH_BYTES,
        log_level=0,
    )
    consumer.assign([confluent.TopicPartition(topic, 0, 0)])
    assert len(confluent.read(consumer, 100)) == 100
    send_urgent(bootstrap, topic)
    passed = 0
    while confluent.read(consumer, 1)[0].value != b"urgent":
        passed += 1
    consumer.close()
    assert passed < OVERTAKEN_AT_MOST


def test_java_with_small_fetches(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(priority_enable="true")
    fill(bootstrap, topic)
    command = [*java_program(Path(__file__).with_name("PatientConsumer.java"))]
    command += [bootstrap, topic, str(FETCH_BYTES), "100", "urgent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as consumer:
        try:
            assert consumer.stdin is not None
            assert consumer.stdout is not None
            assert consumer.stdout.readline() == "read\n"
            send_urgent(bootstrap, topic)
            consumer.stdin.write("\n")
            consumer.stdin.flush()
            values = consumer.stdout.read().splitlines()
        finally:
            consumer.kill()
    assert values[-1] == "urgent"
    assert len(values) < OVERTAKEN_AT_MOST
