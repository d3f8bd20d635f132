"""While etcd takes no changes, its database being full, a cluster goes on with what it has, and tells what it lacks."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from engine.catalogue.etcd.gateway import EtcdEndpoint, Gateway
from tidegate import testing

PATIENCE_S = 30.0


@contextmanager
def full(url: str) -> Iterator[None]:
    with closing(Gateway((EtcdEndpoint.parse(url),))) as gateway:
        member = gateway.call("/v3/maintenance/status", {})["header"]["member_id"]
        alarm = {"memberID": member, "alarm": "NOSPACE"}
        gateway.call("/v3/maintenance/alarm", {**alarm, "action": "ACTIVATE"})
        yield
        gateway.call("/v3/maintenance/alarm", {**alarm, "action": "DEACTIVATE"})


def health(door: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"{door}/health") as answer:
            return json.load(answer)  # type: ignore[no-any-return]
    except urllib.error.HTTPError as answer:
        return json.load(answer)  # type: ignore[no-any-return]


def lacking(door: str) -> dict[str, Any]:
    """How the cluster is, once something is missed."""
    deadline = time.monotonic() + PATIENCE_S
    while (told := health(door))["status"] != "degraded":
        assert time.monotonic() < deadline, told
        time.sleep(0.1)
    return told["cluster"]  # type: ignore[no-any-return]


def write(bootstrap: str, partition: int) -> None:
    """By a producer that is new, and so needs an id."""
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    producer.produce("t", b"x", partition=partition, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(PATIENCE_S) == 0
    assert failed == [None]


def test_producers_come_and_who_has_gone_is_missed() -> None:
    # A busy machine may let a node say nothing for a while, and it could not come back.
    keys = {"trace.events.topic.enable": "false", "broker.session.timeout.ms": "6000"}
    with testing.cluster(2, keys, timeout_s=60) as two:
        admin = AdminClient({"bootstrap.servers": two.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 2, replica_assignment=[[1], [2]])])["t"].result(20)
        door = two.node(1).http_url
        with full(two.etcd.url):
            write(two.bootstrap, 0)
            write(two.bootstrap, 1)
            assert health(door)["status"] == "healthy"
            two.kill(2)
            found = lacking(door)
            assert (found["leaderless_partitions"], found["under_replicated_partitions"]) == (1, 1)
            write(two.node(1).bootstrap, 0)
