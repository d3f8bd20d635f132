"""Consumers that say in which rack they are read from the replica there (KIP-392)."""

import json
import re
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.java.tool import console_text
from tools.chaos.cluster import RACKS, ChaosCluster

MakeTopic = Callable[..., str]
RECORDS = 300
PATIENCE_S = 30.0


def fill(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, f"{number:04}", partition=0)
    assert producer.flush(20) == 0


def leader_of(bootstrap: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "log_level": 0})
    try:
        leader: int = consumer.list_topics(topic, 10).topics[topic].partitions[0].leader
        return leader
    finally:
        consumer.close()


def sent_bytes(cluster: ChaosCluster, topic: str) -> dict[int, float]:
    """What each node has sent of the topic to consumers."""
    found = {}
    for node_id, node in cluster.nodes.items():
        with urllib.request.urlopen(f"{node.http_url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        pattern = rf'^tidegate_topic_sent_bytes_total{{[^}}]*topic="{re.escape(topic)}"[^}}]*}} (\S+)$'
        found[node_id] = sum(float(value) for value in re.findall(pattern, text, re.MULTILINE))
    return found


@pytest.mark.parametrize("is_near", [True, False])
def test_librdkafka_fetches_from_the_follower_in_its_rack(
    cluster: ChaosCluster, make_topic: MakeTopic, is_near: bool
) -> None:
    topic = make_topic()
    fill(cluster.bootstrap, topic)
    leader = leader_of(cluster.bootstrap, topic)
    follower = next(node_id for node_id in RACKS if node_id != leader)
    statistics: list[dict[str, Any]] = []
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "client.rack": RACKS[follower] if is_near else "elsewhere",
            "statistics.interval.ms": 100,
            "stats_cb": lambda text: statistics.append(json.loads(text)),
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []
    asked = -1
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(values) < RECORDS or not statistics:
            assert time.monotonic() < deadline, f"{len(values)} records"
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                values.append(message.value())
        asked = statistics[-1]["topics"][topic]["partitions"]["0"]["broker"]
    finally:
        consumer.close()
    assert values == [f"{number:04}".encode() for number in range(RECORDS)]
    assert asked == (follower if is_near else leader)
    sent = sent_bytes(cluster, topic)
    assert [node_id for node_id, size in sent.items() if size] == [follower if is_near else leader]


def test_the_java_consumer_reads_from_the_follower_in_its_rack(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(cluster.bootstrap, topic)
    leader = leader_of(cluster.bootstrap, topic)
    follower = next(node_id for node_id in RACKS if node_id != leader)
    rack = ("--command-property", f"client.rack={RACKS[follower]}")
    shown = console_text(
        cluster.bootstrap, "--topic", topic, "--from-beginning", *rack, until=lambda text: text.count("\n") >= RECORDS
    )
    assert shown.splitlines() == [f"{number:04}" for number in range(RECORDS)]
    sent = sent_bytes(cluster, topic)
    assert [node_id for node_id, size in sent.items() if size] == [follower]
