"""TopicCommand, ReassignPartitionsCommand, LeaderElectionCommand and LogDirsCommand against three nodes."""

import json
import re
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.java.tool import failing_tool, tool

PATIENCE_S = 60.0


def described(bootstrap: str, topic: str) -> dict[int, dict[str, list[int]]]:
    """Leader, replicas and ISR of each partition, as TopicCommand shows them."""
    shown = tool("TopicCommand", bootstrap, "--describe", "--topic", topic)
    pattern = r"Partition: (\d+)\tLeader: (\S+)\tReplicas: (\S+)\tIsr: (\S*)"
    found = re.findall(pattern, shown)
    names = ("leader", "replicas", "isr")
    return {
        int(index): {name: [int(node) for node in text.split(",")] for name, text in zip(names, texts, strict=True)}
        for index, *texts in found
    }


def plan(path: Path, topic: str, *replicas: list[int]) -> str:
    """A file that says where partitions are to lie."""
    entries = [{"topic": topic, "partition": index, "replicas": each} for index, each in enumerate(replicas)]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def wait_until_moved(bootstrap: str, wanted: str) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        shown = tool("ReassignPartitionsCommand", bootstrap, "--reassignment-json-file", wanted, "--verify")
        if "is still in progress" not in shown or time.monotonic() > deadline:
            return shown
        time.sleep(0.5)


def fill(bootstrap: str, topic: str, count: int) -> None:
    """So many records, each in a batch of its own."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "batch.num.messages": 1})
    for number in range(count):
        producer.produce(topic, f"{number}".encode().rjust(1000), partition=0)
    assert producer.flush(PATIENCE_S) == 0


def values(bootstrap: str, topic: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        value = None if message is None or message.error() else message.value()
        if value is not None:
            found.append(int(value))
    consumer.close()
    return found


def test_a_topic_is_spread_over_racks(bootstrap: str, topic_name: str) -> None:
    where = ("--partitions", "6", "--replication-factor", "2")
    tool("TopicCommand", bootstrap, "--create", "--topic", topic_name, *where)
    rows = described(bootstrap, topic_name).values()
    assert all(len(set(row["replicas"])) == 2 for row in rows)
    assert sorted(row["replicas"][0] for row in rows) == [1, 1, 2, 2, 3, 3]
    assert sorted(node for row in rows for node in row["replicas"]) == [1] * 4 + [2] * 4 + [3] * 4


def test_by_default_there_are_three_replicas(bootstrap: str, topic_name: str) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", topic_name)
    (row,) = described(bootstrap, topic_name).values()
    assert sorted(row["replicas"]) == [1, 2, 3]
    refused = failing_tool(
        "TopicCommand", bootstrap, "--create", "--topic", f"{topic_name}-4", "--replication-factor", "4"
    )
    assert "only 3 broker(s) are registered" in refused


def test_partitions_are_added_with_replicas_of_their_own(bootstrap: str, topic_name: str) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", topic_name, "--replica-assignment", "1:2")
    where = ("--partitions", "2", "--replica-assignment", "1:2,3:1")
    tool("TopicCommand", bootstrap, "--alter", "--topic", topic_name, *where)
    assert [row["replicas"] for row in described(bootstrap, topic_name).values()] == [[1, 2], [3, 1]]


def test_a_partition_moves_with_its_records(bootstrap: str, topic_name: str, tmp_path: Path) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", topic_name, "--replica-assignment", "1:2")
    fill(bootstrap, topic_name, 100)
    wanted = plan(tmp_path / "moves.json", topic_name, [3])
    shown = tool("ReassignPartitionsCommand", bootstrap, "--reassignment-json-file", wanted, "--execute")
    assert f"Successfully started partition reassignment for {topic_name}-0" in shown
    assert f"Reassignment of partition {topic_name}-0 is completed." in wait_until_moved(bootstrap, wanted)
    (row,) = described(bootstrap, topic_name).values()
    assert row == {"leader": [3], "replicas": [3], "isr": [3]}
    assert values(bootstrap, topic_name, 100) == list(range(100))
    sizes = log_sizes(bootstrap, topic_name)
    assert sizes.keys() == {3}
    assert sizes[3] > 100_000


def log_sizes(bootstrap: str, topic: str) -> dict[int, int]:
    """Of partition 0, by node."""
    shown = tool("LogDirsCommand", bootstrap, "--describe", "--topic-list", topic)
    (line,) = [line for line in shown.splitlines() if line.startswith("{")]
    return {
        broker["broker"]: partition["size"]
        for broker in json.loads(line)["brokers"]
        for log_dir in broker["logDirs"]
        for partition in log_dir["partitions"]
        if partition["partition"] == f"{topic}-0"
    }


def test_a_throttled_move_is_listed_and_cancelled(bootstrap: str, topic_name: str, tmp_path: Path) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", topic_name, "--replica-assignment", "1:2")
    fill(bootstrap, topic_name, 100)
    wanted = plan(tmp_path / "moves.json", topic_name, [3, 1])
    file = ("--reassignment-json-file", wanted)
    shown = tool("ReassignPartitionsCommand", bootstrap, *file, "--execute", "--throttle", "1")
    assert "The inter-broker throttle limit was set to 1 B/s" in shown
    listed = tool("ReassignPartitionsCommand", bootstrap, "--list")
    assert f"{topic_name}-0: replicas: 3,1,2. adding: 3. removing: 2." in listed
    cancelled = tool("ReassignPartitionsCommand", bootstrap, *file, "--cancel")
    assert f"Successfully cancelled partition reassignment for: {topic_name}-0" in cancelled
    (row,) = described(bootstrap, topic_name).values()
    assert sorted(row["replicas"]) == [1, 2]
    assert "No partition reassignments found." in tool("ReassignPartitionsCommand", bootstrap, "--list")


def test_the_preferred_leader_is_elected(bootstrap: str, topic_name: str, tmp_path: Path) -> None:
    tool("TopicCommand", bootstrap, "--create", "--topic", topic_name, "--replica-assignment", "1:2")
    wanted = plan(tmp_path / "moves.json", topic_name, [2, 1])
    tool("ReassignPartitionsCommand", bootstrap, "--reassignment-json-file", wanted, "--execute")
    where = ("--election-type", "preferred", "--topic", topic_name, "--partition", "0")
    tool("LeaderElectionCommand", bootstrap, *where)
    (row,) = described(bootstrap, topic_name).values()
    assert (row["leader"], row["replicas"]) == ([2], [2, 1])
