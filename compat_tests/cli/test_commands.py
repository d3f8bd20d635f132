"""The command line talks to any Kafka broker: topics, records, settings, groups, transactions."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from compat_tests.brokers import target
from engine.records.layout import TRANSACTIONAL_FLAG, build_batch
from tools.cli.kafka import connected, run
from tools.cli.profiles import Profile
from wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PATIENCE_S = 60.0
UNKNOWN_PRODUCER = 4_711_000
MakeTopic = Callable[..., str]


@pytest.fixture
def tidegate(bootstrap: str) -> Callable[..., Any]:
    """The program, as a process; what it printed, from JSON if that was asked for."""

    def run(*arguments: str, stdin: str = "", code: int = 0) -> Any:
        command = [sys.executable, "-m", "tidegate", "-b", bootstrap, "--timeout", str(PATIENCE_S), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout) if "json" in arguments and done.stdout else done.stdout + done.stderr

    return run


def test_a_topic_from_its_making_to_its_end(tidegate: Callable[..., Any], topic_name: str) -> None:
    tidegate("topic", "create", topic_name, "-p", "2", "-c", "retention.ms=3600000")
    assert "exists" in tidegate("topic", "create", topic_name, code=5)
    found = tidegate("topic", "describe", topic_name, "-o", "json")
    assert [each["partition"] for each in found["partitions"]] == [0, 1]
    assert {"retention.ms": "3600000"}.items() <= {each["name"]: each["value"] for each in found["configs"]}.items()
    tidegate("topic", "alter", topic_name, "--set", "max.message.bytes=5000", "--unset", "retention.ms")
    (row,) = tidegate("config", "get", "topic", topic_name, "max.message.bytes", "-o", "json")
    assert (row["value"], row["source"]) == ("5000", "topic")
    tidegate("topic", "partitions", topic_name, "3")
    assert topic_name in [each["name"] for each in tidegate("topic", "list", "-o", "json")]
    tidegate("topic", "delete", topic_name, "--yes")
    assert "no topic" in tidegate("topic", "describe", topic_name, code=4)


def test_records_of_every_codec_come_back(tidegate: Callable[..., Any], make_topic: MakeTopic) -> None:
    topic = make_topic()
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    for codec in codecs:
        tidegate("produce", topic, "-K", ":", "-H", "a=1", "-z", codec, stdin=f"key:{codec}\n")
    expected = [f"{offset} key {codec} a=1" for offset, codec in enumerate(codecs)]
    assert tidegate("consume", topic, "-e", "-f", r"%o %k %v %h\n").splitlines() == expected
    tidegate("topic", "purge", topic, "--offset", "4", "--yes")
    assert tidegate("consume", topic, "-e") == "zstd\n"


def test_a_refused_record_is_told(tidegate: Callable[..., Any], make_topic: MakeTopic) -> None:
    topic = make_topic(cleanup_policy="compact")
    said = tidegate("produce", topic, "without a key", code=5)
    assert "INVALID_RECORD" in said
    assert "key" in said.split("INVALID_RECORD")[1]


def test_a_group_is_read_by_described_and_moved(tidegate: Callable[..., Any], make_topic: MakeTopic) -> None:
    topic = make_topic()
    group = f"g-{topic}"
    tidegate("produce", topic, "a", "b", "c")
    assert tidegate("consume", topic, "-g", group, "--count", "2") == "a\nb\n"
    assert tidegate("group", "lag", group, "-o", "json")["lag"] == 1
    assert group in [each["group"] for each in tidegate("group", "list", "-o", "json")]
    assert tidegate("group", "describe", group, "-o", "json")["state"] == "Empty"
    tidegate("group", "reset", group, "--to", "earliest", "--yes")
    assert tidegate("consume", topic, "-g", group, "-e") == "a\nb\nc\n"
    tidegate("group", "delete", group, "--yes")
    assert "no group" in tidegate("group", "describe", group, code=4)


def test_an_open_transaction_is_seen_and_aborted(
    tidegate: Callable[..., Any], make_topic: MakeTopic, bootstrap: str
) -> None:
    topic = make_topic()
    name = f"txn-{topic}"
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"never")
    producer.flush(PATIENCE_S)
    assert name in [each["transactional_id"] for each in tidegate("txn", "list", "--state", "Ongoing", "-o", "json")]
    assert tidegate("txn", "describe", name, "-o", "json")["partitions"] == [f"{topic}-0"]
    tidegate("txn", "abort", name, "--yes")
    with pytest.raises(KafkaException):
        producer.commit_transaction(PATIENCE_S)
    tidegate("produce", topic, "after")
    assert tidegate("consume", topic, "-e") == "after\n"


def test_records_become_readable_at_once_or_never(tidegate: Callable[..., Any], make_topic: MakeTopic) -> None:
    topic = make_topic()
    name = f"import-{topic}"
    one = tidegate("produce", topic, "--transactional-id", name, "-o", "json", stdin="a\nb\n")
    assert (one["records"], one["transactions"]["count"]) == (2, 1)
    tidegate("produce", topic, "never", "--transactional-id", name, "--abort")
    tidegate("produce", topic, "--transactional-id", name, "-K", ":", stdin="k:c\nno key\n", code=2)
    tidegate("produce", topic, "--transactional-id", name, "--transaction-every", "2", stdin="d\ne\nf\n")
    assert tidegate("consume", topic, "-e").split() == ["a", "b", "d", "e", "f"]
    with_aborted = tidegate("consume", topic, "-e", "--isolation", "read_uncommitted").split()
    assert with_aborted == ["a", "b", "never", "c", "d", "e", "f"]
    assert tidegate("txn", "hanging", "--topic", topic) == "no transaction hangs\n"


@pytest.mark.skipif(target() != "kafka", reason="Tidegate lets nobody begin such a transaction")
def test_a_transaction_that_hangs_is_found_and_aborted(
    tidegate: Callable[..., Any], make_topic: MakeTopic, bootstrap: str
) -> None:
    topic = make_topic()
    node = str(tidegate("cluster", "info", "-o", "json")["nodes"][0]["node"])
    key = "transaction.partition.verification.enable"
    tidegate("config", "set", "broker", node, f"{key}=false")
    try:
        produce_unknown(bootstrap, topic)
    finally:
        tidegate("config", "set", "broker", node, "--unset", key)
    (row,) = tidegate("txn", "hanging", "--topic", topic, "-o", "json", code=1)
    assert (row["producer_id"], row["start_offset"], row["hangs"]) == (UNKNOWN_PRODUCER, 0, True)
    tidegate("produce", topic, "behind")
    assert tidegate("consume", topic, "-e") == ""
    tidegate("txn", "abort", "--topic", topic, "--partition", "0", "--start-offset", "0", "--yes")
    assert tidegate("consume", topic, "-e") == "behind\n"


def produce_unknown(bootstrap: str, topic: str) -> None:
    """A record of a transaction that no coordinator knows of, as a broker of old could leave one behind."""
    batch = build_batch(
        [(None, b"never")],
        timestamp_ms=time.time_ns() // 1_000_000,
        producer_id=UNKNOWN_PRODUCER,
        producer_epoch=0,
        base_sequence=0,
        attributes=TRANSACTIONAL_FLAG,
    )
    partition = PartitionProduceData(index=0, records=batch)
    wanted = TopicProduceData(name=topic, partition_data=[partition])
    request = ProduceRequest(transactional_id="unknown", acks=-1, timeout_ms=30_000, topic_data=[wanted])

    async def work() -> int:
        async with connected(Profile(bootstrap=bootstrap, timeout_s=PATIENCE_S)) as kafka:
            answer = await kafka.call(request, last_version=11)
            return int(answer.responses[0].partition_responses[0].error_code)

    assert run(work()) == 0


def test_the_cluster_is_told(tidegate: Callable[..., Any]) -> None:
    found = tidegate("cluster", "info", "-o", "json")
    assert len(found["nodes"]) == 1
    assert found["cluster_id"]
    (row,) = tidegate("config", "get", "broker", str(found["nodes"][0]["node"]), "num.partitions", "-o", "json")
    assert int(row["value"]) >= 1
