"""Held, prioritised and cancelled records inside transactions, by every client that has them."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer

from compat_tests import admin
from compat_tests.clients.base import Record
from compat_tests.conftest import unique_name
from compat_tests.extensions.holding import (
    batch,
    end_offset,
    java_line,
    scripted_java,
    tide,
    tidegate_only,
    watching,
)
from compat_tests.transactions.writers import PATIENCE_S, confluent_producer
from compat_tests.wire.requests import produce, produced

pytestmark = tidegate_only
MakeTopic = Callable[..., str]
Step = Record | str
"""A record to send, or what to do with the transaction: begin, commit, abort."""
DELAY_MS = 3000
STORY: Sequence[Step] = [
    "begin",
    Record(b"committed", b"k"),
    Record(b"committed, held", b"k", tide(delay=DELAY_MS)),
    Record(b"committed, to be cancelled", b"k", tide(delay=DELAY_MS, schedule_id="a")),
    Record(b"committed, to be kept", b"k", tide(delay=DELAY_MS, schedule_id="b")),
    Record(b"cancelled by its own transaction", b"k", tide(delay=DELAY_MS, schedule_id="c")),
    Record(b"cancels", b"k", tide(cancel="c")),
    "commit",
    "begin",
    Record(b"aborted", b"k"),
    Record(b"aborted, held", b"k", tide(delay=1)),
    Record(b"cancels, aborted", b"k", tide(cancel="b")),
    "abort",
    "begin",
    Record(b"cancels", b"k", tide(cancel="a")),
    Record(b"the end", b"k", tide(delay=DELAY_MS + 500)),
    "commit",
]
OUTCOME = [b"committed", b"committed, held", b"committed, to be kept", b"the end"]


def tell_confluent(bootstrap: str, topic: str, steps: Sequence[Step]) -> None:
    producer = confluent_producer(bootstrap, f"id-{topic}")
    for step in steps:
        match step:
            case Record():
                producer.produce(topic, step.value, step.key, partition=0, headers=list(step.headers))
            case "begin":
                producer.begin_transaction()
            case "commit":
                producer.commit_transaction(PATIENCE_S)
            case _:
                producer.flush(PATIENCE_S)
                producer.abort_transaction(PATIENCE_S)


def tell_kafka_python(bootstrap: str, topic: str, steps: Sequence[Step]) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"id-{topic}")
    producer.init_transactions()
    for step in steps:
        match step:
            case Record():
                headers = list(step.headers)
                producer.send(topic, step.value, step.key, partition=0, headers=headers).get(PATIENCE_S)
            case "begin":
                producer.begin_transaction()
            case "commit":
                producer.commit_transaction()
            case _:
                producer.abort_transaction()
    producer.close()


def tell_aiokafka(bootstrap: str, topic: str, steps: Sequence[Step]) -> None:
    async def tell() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"id-{topic}") as producer:
            for step in steps:
                match step:
                    case Record():
                        await producer.send_and_wait(topic, step.value, step.key, 0, headers=list(step.headers))
                    case "begin":
                        await producer.begin_transaction()
                    case "commit":
                        await producer.commit_transaction()
                    case _:
                        await producer.abort_transaction()

    asyncio.run(tell())


def tell_java(bootstrap: str, topic: str, steps: Sequence[Step]) -> None:
    lines = [java_line(step) if isinstance(step, Record) else step for step in steps]
    reports = scripted_java(bootstrap, topic, lines, f"id-{topic}")
    assert all(report == "no offset" or report.startswith("offset") for report in reports), reports


TELLERS = {"confluent": tell_confluent, "kafka-python": tell_kafka_python, "aiokafka": tell_aiokafka, "java": tell_java}
KINDS = {"plain": {}, "prioritised": {"priority.enable": "true"}}
CASES = [(name, kind) for kind in KINDS for name in TELLERS]


@pytest.fixture(scope="module")
def outcomes(bootstrap: str) -> dict[tuple[str, str], tuple[list[bytes | None], float]]:
    """What came of the story told by each client in each kind of topic, some at the same time."""

    def tell(case: tuple[str, str]) -> tuple[list[bytes | None], float]:
        name, kind = case
        topic = unique_name(f"story-{name}-{kind}")
        admin.create_topic(bootstrap, topic, configs=KINDS[kind])
        with watching(bootstrap, topic) as watcher:
            TELLERS[name](bootstrap, topic, STORY)
            watcher.arrival(b"the end")
            return watcher.values, watcher.arrival(b"committed, held").waited_ms

    with ThreadPoolExecutor(4) as pool:
        return dict(zip(CASES, pool.map(tell, CASES), strict=True))


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_every_client_holds_and_cancels_in_transactions(
    outcomes: dict[tuple[str, str], tuple[list[bytes | None], float]], case: tuple[str, str]
) -> None:
    values, waited_ms = outcomes[case]
    assert values == OUTCOME
    assert waited_ms >= DELAY_MS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_nobody_sees_staged_records_of_an_open_transaction(
    bootstrap: str, topic_name: str, kind: str, isolation: str
) -> None:
    admin.create_topic(bootstrap, topic_name, configs=KINDS[kind])
    producer = confluent_producer(bootstrap, f"id-{topic_name}")
    producer.begin_transaction()
    for record in (Record(b"a", b"k", tide(delay=1)), Record(b"b", b"k", tide(delay=2))):
        producer.produce(topic_name, record.value, record.key, partition=0, headers=list(record.headers))
    assert producer.flush(PATIENCE_S) == 0
    with watching(bootstrap, topic_name, isolation) as watcher:
        sent = produced(bootstrap, produce(topic_name, batch([Record(b"of somebody else")])))
        assert sent.error_code == 0
        watcher.arrival(b"of somebody else")
        assert end_offset(bootstrap, topic_name) == 1
        producer.commit_transaction(PATIENCE_S)
        watcher.arrival(b"b")
    assert watcher.values == [b"of somebody else", b"a", b"b"]


@pytest.mark.parametrize("commit", [True, False])
def test_a_cancel_holds_its_record_until_its_transaction_ends(
    bootstrap: str, make_topic: MakeTopic, commit: bool
) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, f"id-{topic}")
    held = [Record(b"held", b"k", tide(delay=600, schedule_id="a")), Record(b"other", b"k", tide(delay=900))]
    assert produced(bootstrap, produce(topic, batch(held))).error_code == 0
    producer.begin_transaction()
    producer.produce(topic, b"", b"k", partition=0, headers=list(tide(cancel="a")))
    assert producer.flush(PATIENCE_S) == 0
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"other")
        assert watcher.values == [b"other"]
        if commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
            watcher.arrival(b"held")
        assert produced(bootstrap, produce(topic, batch([Record(b"the end")]))).error_code == 0
        watcher.arrival(b"the end")
    assert watcher.values == ([b"other", b"the end"] if commit else [b"other", b"held", b"the end"])


def test_an_immediate_record_keeps_its_place_in_its_transaction(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producer = confluent_producer(bootstrap, f"id-{topic}")
    producer.begin_transaction()
    for number in range(6):
        headers = list(tide(delay=300)) if number == 1 else None
        producer.produce(topic, b"%d" % number, b"k", partition=0, headers=headers)
        if number != 0:
            # The first two share a batch, which is staged; the others come after it.
            producer.flush(PATIENCE_S)
    producer.commit_transaction(PATIENCE_S)
    with watching(bootstrap, topic) as watcher:
        watcher.arrival(b"1")
    assert watcher.values == [b"0", b"2", b"3", b"4", b"5", b"1"]
