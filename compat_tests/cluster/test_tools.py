"""Kafka's verifiable clients over a failover, and what its tools tell of a cluster that is whole."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from compat_tests.java.tool import tool
from tools.chaos.cluster import ChaosCluster
from tools.reference.java import java_command

MakeTopic = Callable[..., str]
RECORDS = 2000


def test_topics_are_described_with_their_replicas(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    shown = tool("TopicCommand", cluster.bootstrap, "--describe", "--topic", topic)
    assert "ReplicationFactor: 3" in shown
    lines = [line for line in shown.splitlines() if re.search(r"Partition: \d", line)]
    assert len(lines) == 3
    for line in lines:
        replicas = re.search(r"Replicas: ([\d,]+)", line)
        in_sync = re.search(r"Isr: ([\d,]+)", line)
        assert replicas is not None
        assert in_sync is not None
        assert sorted(replicas[1].split(",")) == sorted(in_sync[1].split(",")) == ["1", "2", "3"]
    assert tool("TopicCommand", cluster.bootstrap, "--describe", "--under-replicated-partitions").strip() == ""


def test_verifiable_clients_over_a_failover(cluster: ChaosCluster, make_topic: MakeTopic, tmp_path: Path) -> None:
    """VerifiableProducer writes while a leader is killed; GetOffsetShell and VerifiableConsumer find all of it."""
    topic, defaults = make_topic(3), tmp_path / "defaults.properties"
    # The tool asks for none; these are the producer's own defaults.
    defaults.write_text("retries=2147483647\nenable.idempotence=true\n")
    arguments = (
        "--command-config",
        str(defaults),
        "--topic",
        topic,
        "--max-messages",
        str(RECORDS),
        "--throughput",
        "400",
        "--acks",
        "-1",
    )
    command = java_command("VerifiableProducer", "--bootstrap-server", cluster.bootstrap, *arguments)
    producer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert producer.stdout is not None
    with producer:
        events = [json.loads(producer.stdout.readline()) for _ in range(200)]
        leader = cluster.standing().leaders[topic, 0]
        cluster.nodes[leader].kill()
        events += [json.loads(line) for line in producer.stdout]
    cluster.nodes[leader].start()
    sent = [event for event in events if event["name"] == "producer_send_success"]
    assert not [event for event in events if event["name"] == "producer_send_error"]
    assert len(sent) == RECORDS
    shown = tool("GetOffsetShell", cluster.bootstrap, "--topic", topic)
    assert sum(int(line.rpartition(":")[2]) for line in shown.split()) == RECORDS
    assert _consumed(cluster.bootstrap, topic) == sorted(event["value"] for event in sent)


def _consumed(bootstrap: str, topic: str) -> list[str]:
    arguments = ("--topic", topic, "--group-id", f"group-{topic}", "--max-messages", str(RECORDS), "--verbose")
    reset = ("--reset-policy", "earliest")
    command = java_command("VerifiableConsumer", "--bootstrap-server", bootstrap, *arguments, *reset)
    consumer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + 60
    found = []
    with consumer:
        assert consumer.stdout is not None
        for line in consumer.stdout:
            event = json.loads(line)
            if event["name"] == "record_data":
                found.append(event["value"])
            if len(found) >= RECORDS or time.monotonic() > deadline:
                consumer.kill()
    return sorted(found)
