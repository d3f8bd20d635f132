"""A user who outgrows one node: its data becomes a cluster's, with real processes, and outlives the first node."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.tools.cli.conftest import run
from tidegate import testing
from tidegate.etcd import RunningEtcd
from tidegate.running_cluster import EtcdElsewhere, RunningCluster

RECORDS = 200
COMMITTED = 120
DELAY_MS = 30_000
PATIENCE_S = 90.0
# A busy machine may let a node say nothing for a while.
PATIENT = {"broker.session.timeout.ms": "6000"}
QUIET = {"trace.events.topic.enable": "false", "group.initial.rebalance.delay.ms": "0"}


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[RunningEtcd]:
    with RunningEtcd(tmp_path / "etcd") as running:
        yield running


def live_alone(data: Path) -> float:
    """Records, an offset that a group has committed, and a record that waits; when that is due."""
    with testing.broker(QUIET, data_dir=data, timeout_s=60) as alone:
        producer = Producer({"bootstrap.servers": alone.bootstrap})
        for number in range(RECORDS):
            producer.produce("orders", f"order {number}".encode(), partition=0)
        assert producer.flush(20) == 0
        producer.produce("orders", b"later", partition=0, headers=[("tide-delay", str(DELAY_MS).encode())])
        assert producer.flush(20) == 0
        due = time.monotonic() + DELAY_MS / 1000
        consumer = Consumer({"bootstrap.servers": alone.bootstrap, "group.id": "kitchen"})
        consumer.commit(offsets=[TopicPartition("orders", 0, COMMITTED)], asynchronous=False)
        consumer.close()
        return due


def committed(bootstrap: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "kitchen"})
    try:
        (place,) = consumer.committed([TopicPartition("orders", 0)], timeout=30)
        return int(place.offset)
    finally:
        consumer.close()


def read(bootstrap: str, count: int) -> list[tuple[bytes, float]]:
    """So many records from the beginning, with when each came."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    found: list[tuple[bytes, float]] = []
    try:
        consumer.assign([TopicPartition("orders", 0, 0)])
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"only {len(found)} of {count}"
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                found.append((message.value(), time.monotonic()))
        return found
    finally:
        consumer.close()


def test_everything_is_there_when_the_first_node_has_gone(tmp_path: Path, etcd: RunningEtcd) -> None:
    data = tmp_path / "alone"
    due = live_alone(data)
    where = ("--etcd", etcd.url, "--data-dir", str(data), "--node-id", "1", "--prefix", "/outgrown")
    adopted = run("cluster", "adopt", *where, "-o", "json")
    assert (adopted.code, adopted.data["topics"] >= 2) == (0, True)
    start = f"tidegate serve --data-dir {data} --node-id 1 --etcd {etcd.url} --set etcd.prefix=/outgrown"
    assert adopted.data["start"] == start
    own = {1: {"log.dirs": str(data)}, 2: {}, 3: {}}
    keys = QUIET | PATIENT | {"etcd.prefix": "/outgrown"}
    three = RunningCluster.make(tmp_path, 3, keys, etcd=EtcdElsewhere(etcd.url), own=own, timeout_s=60)
    with three:
        at = ("-b", three.bootstrap, "--timeout", "60", "-o", "json")
        assert committed(three.bootstrap) == COMMITTED
        plan = tmp_path / "plan.json"
        assert run("cluster", "reassign", "plan", "--replication-factor", "3", "--out", str(plan), *at).code == 0
        moved = run("cluster", "reassign", "apply", str(plan), "--yes", *at)
        assert (moved.code, moved.data["refused"]) == (0, [])
        partitions = run("cluster", "partitions", *at).data
        assert all(sorted(each["isr"]) == [1, 2, 3] for each in partitions)
        three.kill(1)
        left = f"{three.node(2).bootstrap},{three.node(3).bootstrap}"
        records = read(left, RECORDS + 1)
        assert [value for value, _ in records[:RECORDS]] == [f"order {number}".encode() for number in range(RECORDS)]
        value, came = records[RECORDS]
        assert (value, came >= due - 1) == (b"later", True), json.dumps([value.decode(), came - due])
        assert committed(left) == COMMITTED
