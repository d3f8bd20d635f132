"""What each client reports as the offset of records in a batch that was staged: none, for none has one yet."""

import asyncio
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import OFFSET_INVALID

from compat_tests.clients import confluent, kafkapython
from compat_tests.clients.base import Record
from compat_tests.clients.in_python import as_sent
from compat_tests.clients.kcat import run_kcat
from compat_tests.extensions.holding import java_line, scripted_java, tide, tidegate_only
from compat_tests.wire.requests import batches

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
RECORDS = [Record(b"v%d" % index, b"k", tide(delay=200) if index in (1, 2) else ()) for index in range(4)]
FRANZ = Path(__file__).with_name("franz")


def test_confluent_reports_none(bootstrap: str, make_topic: MakeTopic) -> None:
    producer = confluent.producer_for(bootstrap, linger_ms=200)
    reports = confluent.send(producer, make_topic(), RECORDS)
    # No flush: it sends what is there without lingering, maybe in several batches.
    deadline = time.monotonic() + 30
    while len(reports) < len(RECORDS) and time.monotonic() < deadline:
        producer.poll(0.1)
    assert [error for error, _ in reports] == [None] * 4
    assert {message.offset() for _, message in reports} <= {None, OFFSET_INVALID}


def test_an_idempotent_confluent_producer_goes_on(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producer = confluent.producer_for(bootstrap, enable_idempotence=True)
    for _ in range(3):
        reports = confluent.send(producer, topic, [*RECORDS[:2], Record(b"held", b"k", tide(delay=60_000))])
        assert producer.flush(30) == 0
        assert [error for error, _ in reports] == [None] * 3
    plain = confluent.send(producer, topic, [Record(b"plain")])
    assert producer.flush(30) == 0
    assert plain[0][1].offset() is not None


def test_kafka_python_reports_minus_one(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producer = kafkapython.producer_for(bootstrap, linger_ms=200)
    sent = [producer.send(topic, **as_sent(record)) for record in RECORDS]
    assert [each.get(20).offset for each in sent] == [-1] * 4
    producer.close()


def test_aiokafka_reports_no_number_that_could_be_an_offset(bootstrap: str, make_topic: MakeTopic) -> None:
    """It adds a record's place in the batch to whatever it is told."""

    async def offsets(topic: str) -> list[int]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=200) as producer:
            sent = [await producer.send(topic, r.value, r.key, 0, headers=list(r.headers)) for r in RECORDS]
            return [metadata.offset for metadata in await asyncio.gather(*sent)]

    assert max(asyncio.run(offsets(make_topic()))) < 0


def test_java_reports_none(bootstrap: str, make_topic: MakeTopic) -> None:
    assert scripted_java(bootstrap, make_topic(), [java_line(record) for record in RECORDS]) == ["no offset"] * 4


def test_kcat_of_2022_reports_no_number_that_could_be_an_offset(bootstrap: str, make_topic: MakeTopic) -> None:
    where = ("-P", "-t", make_topic(), "-p", "0", "-v", "-v", "-v", "-X", "linger.ms=200")
    held = _reported(run_kcat(bootstrap, *where, "-H", "tide-delay=200", stdin=b"a\nb\nc\n"))
    assert len(held) == 3
    assert max(held) < 0
    assert min(_reported(run_kcat(bootstrap, *where, stdin=b"d\ne\n"))) >= 0


def _reported(done: "subprocess.CompletedProcess[bytes]") -> list[int]:
    assert done.returncode == 0, done.stderr
    return [int(offset) for offset in re.findall(rb"\(offset (-?\d+)\)", done.stderr)]


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go on this machine")
@pytest.mark.timeout(300)
def test_franz_go_reports_none(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fetched = subprocess.run(["go", "mod", "download"], cwd=FRANZ, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"franz-go cannot be had: {fetched.stderr}")
    command = ["go", "run", ".", bootstrap, topic]
    done = subprocess.run(command, cwd=FRANZ, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    offsets = [int(line) for line in done.stdout.split()]
    assert len(offsets) == 4
    assert max(offsets) < 0, offsets
    assert batches(bootstrap, topic)[0].values == (b"v0", b"v3")
