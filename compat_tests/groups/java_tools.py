"""Kafka's own tools for groups: what the scenarios of both protocols do with them."""

import json
from collections.abc import Callable

from compat_tests.clients import CLIENTS, Record
from tools.reference.java import java_tool

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
MakeTopic = Callable[..., str]


def fill(bootstrap: str, topic: str, count: int, partitions: int = 1) -> None:
    """So many records, over all partitions."""
    records = [Record(b"%d" % number, partition=number % partitions) for number in range(count)]
    CLIENTS["confluent"].produce(bootstrap, topic, records)


def rows(shown: str) -> list[list[str]]:
    """The table of a tool without its heading."""
    lines = [line.split() for line in shown.splitlines() if line.strip()]
    heading = next(number for number, line in enumerate(lines) if line[0] == "GROUP")
    return lines[heading + 1 :]


def consumes_and_commits(bootstrap: str, topic: str, group: str, protocol: str, count: int) -> None:
    """VerifiableConsumer gets that many records, and commits each time."""
    where = ("--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group, "--group-protocol", protocol)
    done = java_tool("VerifiableConsumer", *where, "--max-messages", str(count), "--reset-policy", "earliest")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == count
    committed = [event for event in events if event["name"] == "offsets_committed"]
    assert committed
    assert all(event["success"] for event in committed)
