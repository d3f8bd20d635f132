"""Three nodes, and the commands that look at them and move partitions."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.tools.cli.conftest import Tidegate, run
from tidegate import testing
from tidegate.running_cluster import RunningCluster

PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def three() -> Iterator[RunningCluster]:
    # A busy machine may let a node say nothing for a while.
    keys = {"trace.events.topic.enable": "false", "broker.session.timeout.ms": "6000"}
    with testing.cluster(3, keys, racks=("a", "b", "c"), timeout_s=60) as running:
        yield running


@pytest.fixture
def tidegate(three: RunningCluster, monkeypatch: pytest.MonkeyPatch) -> Tidegate:
    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", three.bootstrap)
    monkeypatch.setenv("TIDEGATE_CLI_TIMEOUT_S", "60")
    return run


def create(three: RunningCluster, name: str, *replicas: list[int]) -> None:
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    admin.create_topics([NewTopic(name, len(replicas), replica_assignment=list(replicas))])[name].result(20)


def fill(three: RunningCluster, name: str, partitions: int, count: int = 50) -> None:
    producer = Producer({"bootstrap.servers": three.bootstrap, "acks": "all"})
    for partition in range(partitions):
        for _ in range(count):
            producer.produce(name, b"x" * 1000, partition=partition)
    assert producer.flush(20) == 0


def partitions_of(tidegate: Tidegate, name: str, *options: str) -> list[dict[str, Any]]:
    return tidegate("cluster", "partitions", name, *options, "-o", "json").data  # type: ignore[no-any-return]


def test_partitions_are_looked_at_planned_moved_and_drained(
    tidegate: Tidegate, three: RunningCluster, tmp_path: Path
) -> None:
    create(three, "moves", [1, 2], [1, 2], [2, 1], [1, 2])
    fill(three, "moves", 4)
    before = {each["node"]: each for each in tidegate("cluster", "nodes", "-o", "json").data}
    assert [before[node]["rack"] for node in (1, 2, 3)] == ["a", "b", "c"]
    assert (before[3]["replicas"], before[1]["state"]) == (0, "serves")
    assert sum(each["controller"] for each in before.values()) == 1
    assert before[1]["size_bytes"] > 150_000

    dry = tidegate("cluster", "rebalance", "--dry-run", "-o", "json").data
    assert (dry["dry_run"], partitions_of(tidegate, "moves")[0]["replicas"]) == (True, [1, 2])
    moved = tidegate("cluster", "rebalance", "--yes", "-o", "json").data
    assert (moved["refused"], len(moved["moved"])) == ([], len(dry["moves"]))
    held = Counter(node for each in partitions_of(tidegate, "moves") for node in each["replicas"])
    assert max(held.values()) - min(held.values()) <= 1
    assert len(held) == 3

    plan = tmp_path / "plan.json"
    told = tidegate("cluster", "reassign", "plan", "moves", "--replication-factor", "3", "--out", str(plan))
    assert "to copy" in told.out
    assert json.loads(plan.read_text())["version"] == 1
    assert "moved: " in tidegate("cluster", "reassign", "apply", str(plan), "--yes").out
    assert all(sorted(each["isr"]) == [1, 2, 3] for each in partitions_of(tidegate, "moves"))
    assert tidegate("cluster", "reassign", "status", "-o", "json").data == []
    again = tidegate("cluster", "reassign", "apply", str(plan), "--yes")
    assert again.out.startswith("nothing has to be moved")

    refused = tidegate("cluster", "drain", "3", "--yes")
    assert (refused.code, "only 2 nodes can hold them" in refused.err) == (2, True)
    plan.write_text(tidegate("cluster", "reassign", "plan", "moves", "--replication-factor", "2", "-o", "json").out)
    lowered = json.loads(plan.read_text())
    plan.write_text(json.dumps({"partitions": lowered["moves"]}))
    assert tidegate("cluster", "reassign", "apply", str(plan), "--yes").code == 0
    assert tidegate("cluster", "drain", "3", "--yes").code == 0
    assert all(3 not in each["replicas"] for each in partitions_of(tidegate, "moves"))
    lag = partitions_of(tidegate, "moves", "--lag")
    assert all(replica["lag"]["records"] == 0 for each in lag for replica in each["lags"])
    assert tidegate("cluster", "partitions", "--lacking").err.startswith("all partitions have what they need")


def test_leaders_go_back_to_where_they_belong(tidegate: Tidegate, three: RunningCluster, tmp_path: Path) -> None:
    create(three, "led", [1, 2, 3])
    plan = tmp_path / "plan.json"
    plan.write_text('{"partitions": [{"topic": "led", "partition": 0, "replicas": [2, 1, 3]}]}')
    assert tidegate("cluster", "reassign", "apply", str(plan), "--yes").code == 0
    assert partitions_of(tidegate, "led")[0]["replicas"] == [2, 1, 3]
    tidegate("cluster", "elect", "led")
    assert partitions_of(tidegate, "led")[0]["leader"] == 2
    assert tidegate("cluster", "elect", "led", "-o", "json").data["not_needed"] == ["led-0"]
    assert tidegate("cluster", "elect", "led", "--unclean", "--yes", "-o", "json").data["elected"] == []
    assert tidegate("cluster", "elect", "--partition", "1").code == 2


def test_nothing_to_cancel_is_told(tidegate: Tidegate) -> None:
    found = tidegate("cluster", "reassign", "cancel", "--yes")
    assert (found.code, "nothing is being moved" in found.err) == (1, True)


def test_what_is_under_way_is_shown_and_taken_back(tidegate: Tidegate, three: RunningCluster, tmp_path: Path) -> None:
    create(three, "slow", [1, 2])
    fill(three, "slow", 1, count=3_000)
    tidegate("config", "set", "topic", "slow", "leader.replication.throttled.replicas=*")
    for node in "12":
        tidegate("config", "set", "broker", node, "leader.replication.throttled.rate=1000")
    plan = tmp_path / "plan.json"
    plan.write_text('{"partitions": [{"topic": "slow", "partition": 0, "replicas": [1, 3]}]}')
    begun = tidegate("cluster", "reassign", "apply", str(plan), "--yes", "--no-wait", "-o", "json").data
    assert begun == {"begun": ["slow-0"], "refused": []}
    (moving,) = tidegate("cluster", "reassign", "status", "-o", "json").data
    assert (moving["adding"], moving["removing"], moving["in_sync"]) == ([3], [2], [])
    assert 0 <= moving["copied_bytes"] < moving["size_bytes"]
    stuck = tidegate("cluster", "reassign", "apply", str(plan), "--yes", "--timeout", "2")
    assert stuck.out.startswith("nothing has to be moved"), "it is what is wanted already"
    assert tidegate("cluster", "reassign", "cancel", "slow", "--yes", "-o", "json").data["cancelled"] == ["slow-0"]
    assert partitions_of(tidegate, "slow")[0]["replicas"] == [1, 2]
    for node in "12":
        tidegate("config", "set", "broker", node, "--unset", "leader.replication.throttled.rate")


def test_a_node_that_is_away_is_shown(tidegate: Tidegate, three: RunningCluster) -> None:
    create(three, "whole", [1, 2, 3])
    three.kill(3)
    at = ("-b", three.node(1).bootstrap, "-o", "json")
    deadline = time.monotonic() + PATIENCE_S
    while (states := {each["node"]: each["state"] for each in run("cluster", "nodes", *at).data})[3] != "away":
        assert time.monotonic() < deadline, states
        time.sleep(0.2)
    assert "whole" in {each["topic"] for each in run("cluster", "partitions", "--lacking", *at).data}
    evened = run("cluster", "rebalance", "--dry-run", *at)
    assert "node 3 is away and may come back: the " in evened.err
    assert "'tidegate cluster drain 3'" in evened.err
    assert all(3 not in move["before"] for move in evened.data["moves"])
    three.start(3)
