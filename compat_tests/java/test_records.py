"""The tools that send and read records: ProducerPerformance, VerifiableProducer, the console pair."""

import json
import re
from collections.abc import Callable

import pytest

from compat_tests.clients import CLIENTS, Record
from compat_tests.java.tool import tool
from compat_tests.wire.requests import batches
from tools.reference.java import java_tool


@pytest.mark.parametrize("settings", ["acks=all", "acks=1,compression.type=zstd,linger.ms=5"])
def test_producer_performance(bootstrap: str, make_topic: Callable[..., str], settings: str) -> None:
    topic = make_topic()
    amount = ("--num-records", "2000", "--record-size", "100", "--throughput", "-1")
    shown = tool(
        "ProducerPerformance", bootstrap, "--topic", topic, *amount, "--command-property", *settings.split(",")
    )
    assert re.search(r"2000 records sent", shown)
    found = batches(bootstrap, topic)
    assert found[-1].last_offset == 1999
    assert {batch.codec for batch in found} == {"zstd" if "zstd" in settings else "none"}


def test_the_producer_of_today_is_idempotent(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    tool(
        "ProducerPerformance",
        bootstrap,
        "--topic",
        topic,
        "--num-records",
        "10",
        "--record-size",
        "10",
        "--throughput",
        "-1",
    )
    assert all(batch.producer_id >= 0 for batch in batches(bootstrap, topic))
    where = ("--topic", topic, "--partition", "0")
    shown = transactions_tool(bootstrap, "describe-producers", *where).splitlines()
    assert shown[0].split()[:4] == ["ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence"]
    assert shown[1].split()[1:4] == ["0", "-1", "9"]


def transactions_tool(bootstrap: str, *arguments: str) -> str:
    """This tool wants the broker named before its action."""
    done = java_tool("TransactionsCommand", "--bootstrap-server", bootstrap, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_verifiable_producer(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    shown = tool("VerifiableProducer", bootstrap, "--topic", topic, "--max-messages", "500")
    events = [json.loads(line) for line in shown.splitlines()]
    sent = [event for event in events if event["name"] == "producer_send_success"]
    assert [(event["offset"], event["value"]) for event in sent] == [(n, str(n)) for n in range(500)]
    found = CLIENTS["confluent"].consume(bootstrap, topic, 500)
    assert [record.value for record in found] == [str(number).encode() for number in range(500)]


def test_console_consumer_from_the_beginning_of_a_partition(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(2)
    records = [Record(f"{number}".encode(), partition=1) for number in range(20)]
    CLIENTS["confluent"].produce(bootstrap, topic, records)
    where = ("--topic", topic, "--partition", "1", "--offset", "earliest", "--max-messages", "20")
    assert tool("ConsoleConsumer", bootstrap, *where).split() == [str(number) for number in range(20)]
