"""Kafka's kafka-share-groups (ShareGroupCommand), with the console share consumer as the group's member."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from compat_tests.java.tool import failing_tool, tool
from compat_tests.waiting import eventually
from tools.reference.java import java_command, java_tool

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
RECORDS = [f"record-{number}" for number in range(10)]
CONSUMER_PATIENCE_MS = "30000"


@pytest.fixture
def group(bootstrap: str, topic_name: str) -> str:
    """A group that begins at the start."""
    entity = ("--entity-type", "groups", "--entity-name", topic_name)
    tool("ConfigCommand", bootstrap, *entity, "--alter", "--add-config", "share.auto.offset.reset=earliest")
    return topic_name


@pytest.fixture
def topic(bootstrap: str, make_topic: Callable[..., str]) -> str:
    """A topic with some records."""
    topic = make_topic(1)
    done = java_tool(
        "ConsoleProducer",
        "--topic",
        topic,
        "--bootstrap-server",
        bootstrap,
        stdin="".join(f"{each}\n" for each in RECORDS),
    )
    assert done.returncode == 0, done.stderr
    return topic


def consumed(bootstrap: str, group: str, topic: str) -> list[str]:
    """What a member is given that goes when it has had as many records as there are."""
    options = ("--max-messages", str(len(RECORDS)), "--timeout-ms", CONSUMER_PATIENCE_MS)
    return tool(CONSUMER, bootstrap, "--topic", topic, "--group", group, *options).split()


@contextmanager
def member(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """A member, as long as the block runs; it has read everything."""
    command = java_command(CONSUMER, "--bootstrap-server", bootstrap, "--topic", topic, "--group", group)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as consumer:
        assert consumer.stdout is not None
        try:
            assert [consumer.stdout.readline().strip() for _ in RECORDS] == RECORDS
            yield
        finally:
            consumer.terminate()


def table(bootstrap: str, *arguments: str) -> list[list[str]]:
    """The rows that a tool shows, without the head and words that are no table."""
    lines = tool(SHARE_GROUPS, bootstrap, *arguments).splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith(("GROUP", "TOPIC", "Share group"))]


def lags(bootstrap: str, group: str) -> dict[tuple[str, str], str]:
    """By topic and partition. Kafka writes down where a group begins only with the next change of it."""
    return {(row[1], row[2]): row[4] for row in table(bootstrap, "--describe", "--group", group)}


def test_a_group_with_a_member_is_listed_described_and_left_alone(bootstrap: str, group: str, topic: str) -> None:
    with member(bootstrap, group, topic):
        assert group in tool(SHARE_GROUPS, bootstrap, "--list").split()
        assert [group, "Stable"] in table(bootstrap, "--list", "--state")
        assert [group, "Stable"] in table(bootstrap, "--list", "--state", "stable")
        assert not [row for row in table(bootstrap, "--list", "--state", "empty") if group in row]
        described = ("--describe", "--group", group)
        ((_, _, host, client, partitions, epoch, assignment),) = table(bootstrap, *described, "--members", "--verbose")
        assert (host, client, partitions, assignment) == ("/127.0.0.1", "console-share-consumer", "1", f"{topic}:0")
        ((_, _, _, state, group_epoch, assigned, members),) = table(bootstrap, *described, "--state", "--verbose")
        assert (state, members) == ("Stable", "1")
        assert epoch == group_epoch == assigned
        eventually(lambda: lags(bootstrap, group), {(topic, "0"): "0"})
        reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
        assert "is not empty" in failing_tool(SHARE_GROUPS, bootstrap, *reset)
        assert "GroupNotEmptyException" in tool(SHARE_GROUPS, bootstrap, "--delete", "--group", group)
    eventually(lambda: [row[1] for row in table(bootstrap, "--list", "--state") if row[0] == group], ["Empty"])


def test_offsets_are_reset_forgotten_and_deleted_with_the_group(bootstrap: str, group: str, topic: str) -> None:
    named = ("--group", group)
    assert consumed(bootstrap, group, topic) == RECORDS
    eventually(lambda: lags(bootstrap, group), {(topic, "0"): "0"})

    reset = ("--reset-offsets", *named, "--topic", topic)
    assert table(bootstrap, *reset, "--to-earliest", "--dry-run") == [[group, topic, "0", "0"]]
    assert lags(bootstrap, group) == {(topic, "0"): "0"}, "nothing was done yet"
    assert table(bootstrap, *reset, "--to-earliest", "--execute") == [[group, topic, "0", "0"]]
    assert table(bootstrap, "--describe", *named) == [[group, topic, "0", "0", "10"]]
    assert consumed(bootstrap, group, topic) == RECORDS, "all are delivered again"

    everything = ("--reset-offsets", *named, "--all-topics")
    assert table(bootstrap, *everything, "--to-latest", "--execute") == [[group, topic, "0", "10"]]
    assert table(bootstrap, *reset, "--to-datetime", "2020-01-01T00:00:00.000", "--execute") == [
        [group, topic, "0", "0"]
    ]
    ((_, _, _, _, start, lag),) = table(bootstrap, "--describe", *named, "--offsets", "--verbose")
    assert (start, lag) == ("0", "10")

    assert table(bootstrap, "--delete-offsets", *named, "--topic", topic) == [[topic, "Successful"]]
    assert "has no offset information" in tool(SHARE_GROUPS, bootstrap, "--describe", *named)
    said = tool(SHARE_GROUPS, bootstrap, "--delete-offsets", *named, "--topic", topic)
    assert "There is no offset information to delete." in said

    assert "was successful" in tool(SHARE_GROUPS, bootstrap, "--delete", *named)
    assert group not in tool(SHARE_GROUPS, bootstrap, "--list").split()
    assert (
        "GroupIdNotFoundException"
        in java_tool(SHARE_GROUPS, "--describe", *named, "--bootstrap-server", bootstrap).stdout
    )
    assert consumed(bootstrap, group, topic) == RECORDS, "a group of that name begins anew"


def test_topics_that_grow_and_go(bootstrap: str, group: str, topic: str) -> None:
    described = ("--describe", "--group", group)
    with member(bootstrap, group, topic):
        tool("TopicCommand", bootstrap, "--alter", "--topic", topic, "--partitions", "2")
        eventually(lambda: [row[2] for row in table(bootstrap, *described)], ["0", "1"], seconds=30)
    # Whoever still asks for the topic would have it made again.
    eventually(lambda: [row[1] for row in table(bootstrap, "--list", "--state") if row[0] == group], ["Empty"])
    tool("TopicCommand", bootstrap, "--delete", "--topic", topic)
    eventually(lambda: table(bootstrap, *described), [], seconds=30)
