"""Idempotent producers through cut connections and lost answers: no duplicate, no loss, no reorder."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import TopicPartition
from kafka import KafkaProducer

from compat_tests import admin
from compat_tests.clients import Record
from compat_tests.clients.confluent import Confluent, consumer_for, producer_for, send
from compat_tests.conftest import unique_name
from compat_tests.proxy import Plan, Proxy, broker_behind_proxy
from tools.reference.java import java_tool
from tools.soak.history import judge

PARTITIONS = 3


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with broker_behind_proxy() as proxy:
        yield proxy


@pytest.fixture
def topic(proxy: Proxy, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of three partitions; the proxy is harmless before and after the test."""
    proxy.plan = Plan()
    name = unique_name(request.node.name)
    admin.create_topic(proxy.address, name, PARTITIONS)
    yield name
    proxy.plan = Plan()


def records(count: int) -> list[Record]:
    # Large enough for the cuts to fall within many requests.
    return [Record(f"{number}".encode(), key=b"x" * 100, partition=number % PARTITIONS) for number in range(count)]


def judge_all(proxy: Proxy, topic: str, count: int) -> None:
    plan, proxy.plan = proxy.plan, Plan()
    assert len(plan.done) >= 3, "the plan has hardly cut anything: this proves little"
    sent: dict[object, list[bytes]] = defaultdict(list)
    for record in records(count):
        assert record.value is not None
        sent[record.partition].append(record.value)
    read = {
        partition: [
            found.value
            for found in Confluent().consume(proxy.address, topic, len(marks), partition=int(str(partition)))
        ]
        for partition, marks in sent.items()
    }
    for partition, marks in sent.items():
        _, end = end_offset(proxy, topic, int(str(partition)))
        assert end == len(marks), f"partition {partition} ends at {end}"
    verdict = judge(sent, read)
    assert verdict.clean, verdict


def end_offset(proxy: Proxy, topic: str, partition: int) -> tuple[int, int]:
    consumer = consumer_for(proxy.address)
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
    finally:
        consumer.close()


PLANS = [
    pytest.param({"cuts": 25}, id="cuts"),
    pytest.param({"lost_answers": 12}, id="lost-answers"),
    pytest.param({"cuts": 12, "lost_answers": 8, "every": 7}, id="both"),
]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", [1, 2])
def test_confluent(proxy: Proxy, topic: str, plan: dict[str, int], seed: int) -> None:
    proxy.plan = Plan(seed=seed, **plan)
    producer = producer_for(
        proxy.address,
        enable_idempotence=True,
        linger_ms=1,
        batch_num_messages=200,
        retry_backoff_ms=10,
        reconnect_backoff_ms=10,
        reconnect_backoff_max_ms=100,
        message_timeout_ms=60_000,
        log_level=2,
    )
    count = 20_000
    reports = send(producer, topic, records(count))
    assert producer.flush(60) == 0
    assert [error for error, _ in reports if error is not None] == []
    assert len(reports) == count
    judge_all(proxy, topic, count)


def test_without_idempotence_the_same_plan_does_harm(proxy: Proxy, topic: str) -> None:
    """That the proxy and the judge would find it out."""
    proxy.plan = Plan(seed=1, lost_answers=12)
    producer = producer_for(proxy.address, linger_ms=1, batch_num_messages=200, log_level=2)
    send(producer, topic, records(20_000))
    assert producer.flush(60) == 0
    with pytest.raises(AssertionError, match="ends at"):
        judge_all(proxy, topic, 20_000)


@pytest.mark.parametrize("plan", PLANS)
def test_aiokafka(proxy: Proxy, topic: str, plan: dict[str, int]) -> None:
    proxy.plan = Plan(seed=3, **plan)
    count = 6000

    async def run() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=proxy.address,
            enable_idempotence=True,
            retry_backoff_ms=20,
            max_batch_size=8192,
            request_timeout_ms=60_000,
        )
        async with producer:
            sent = [
                await producer.send(topic, record.value, record.key, partition=record.partition)
                for record in records(count)
            ]
            await asyncio.gather(*sent)

    asyncio.run(run())
    judge_all(proxy, topic, count)


@pytest.mark.parametrize("plan", PLANS)
def test_kafka_python(proxy: Proxy, topic: str, plan: dict[str, int]) -> None:
    proxy.plan = Plan(seed=4, **plan)
    count = 6000
    producer = KafkaProducer(
        bootstrap_servers=proxy.address,
        enable_idempotence=True,
        acks="all",
        batch_size=8192,
        retry_backoff_ms=20,
        reconnect_backoff_ms=10,
        reconnect_backoff_max_ms=100,
    )
    try:
        sent = [producer.send(topic, record.value, record.key, partition=record.partition) for record in records(count)]
        for future in sent:
            future.get(60)
    finally:
        producer.close(timeout=10)
    judge_all(proxy, topic, count)


def test_java(proxy: Proxy, topic: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = tmp_path_factory.mktemp("java") / "producer.properties"
    # The tool does not retry by itself, and so would not be idempotent either.
    settings.write_text(
        "enable.idempotence=true\nretries=2147483647\nbatch.size=4096\n"
        "retry.backoff.ms=10\nreconnect.backoff.ms=10\nreconnect.backoff.max.ms=100\n"
    )
    proxy.plan = Plan(seed=5, cuts=10, lost_answers=6, every=4)
    count = 5000
    done = java_tool(
        "VerifiableProducer",
        *("--bootstrap-server", proxy.address, "--topic", topic, "--max-messages", str(count)),
        *("--command-config", str(settings)),
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    acknowledged: dict[object, list[tuple[int, bytes]]] = defaultdict(list)
    for event in events:
        if event["name"] == "producer_send_success":
            acknowledged[event["partition"]].append((event["offset"], event["value"].encode()))
    assert sum(map(len, acknowledged.values())) == count
    plan, proxy.plan = proxy.plan, Plan()
    assert len(plan.done) >= 3
    for partition, pairs in acknowledged.items():
        _, end = end_offset(proxy, topic, int(str(partition)))
        found = Confluent().consume(proxy.address, topic, end, partition=int(str(partition)))
        assert [(record.offset, record.value) for record in found] == sorted(pairs)
