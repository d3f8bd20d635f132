"""Kafka's own tools on share groups: console, verifiable consumer, performance, and the command for administrators."""

import json
import re
import subprocess
import tempfile

import pytest

from compat_tests import brokers
from compat_tests.share.conftest import MakeMember, MakeTopic
from compat_tests.share.member import ACCEPT
from compat_tests.share.sending import fill, send
from tools.reference.java import java_command, java_tool

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
pytestmark = pytest.mark.timeout(180)


def share_groups(bootstrap: str, *arguments: str) -> list[list[str]]:
    """The words of each line of its answer."""
    done = java_tool(SHARE_GROUPS, "--bootstrap-server", bootstrap, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split() for line in done.stdout.splitlines() if line.strip()]


def console(bootstrap: str, group: str, topic: str, count: int, *options: str) -> list[str]:
    where = ("--bootstrap-server", bootstrap, "--group", group, "--topic", topic, "--max-messages", str(count))
    done = java_tool(CONSOLE, *where, "--timeout-ms", "40000", *options, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_console_accepts_and_rejects(bootstrap: str, group: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    send(bootstrap, topic, ["one", "two"])
    printed = console(bootstrap, group, topic, 2, "--formatter-property", "print.delivery=true", "--reject")
    assert [line.split("\t") for line in printed] == [["Delivery:1", "one"], ["Delivery:1", "two"]]
    send(bootstrap, topic, ["three"])
    assert console(bootstrap, group, topic, 1) == ["three"]


def test_the_verifiable_consumer(bootstrap: str, group: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    for partition in (0, 1):
        fill(bootstrap, topic, 200, partition=partition, together=20)
    where = ("--bootstrap-server", bootstrap, "--group-id", group, "--topic", topic, "--max-messages", "400")
    with tempfile.TemporaryFile() as complaints:
        command = java_command("VerifiableShareConsumer", *where, "--acknowledgement-mode", "sync")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=complaints, timeout=120, check=False)
        complaints.seek(0)
        assert done.returncode == 0, complaints.read()
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    acknowledged = sum(each["count"] for each in events if each["name"] == "offsets_acknowledged" and each["success"])
    assert acknowledged == 400


def test_performance(bootstrap: str, group: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(bootstrap, topic, 5_000)
    where = ("--bootstrap-server", bootstrap, "--group", group, "--topic", topic)
    done = java_tool("ShareConsumerPerformance", *where, "--num-records", "5000", timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b5000\b", done.stdout), done.stdout


def test_groups_are_listed_described_reset_and_deleted(
    bootstrap: str, group: str, make_queue: MakeTopic, make_member: MakeMember
) -> None:
    topic = make_queue()
    fill(bootstrap, topic, 4)
    member = make_member()
    member.join(topic)
    member.collect(topic, 4)
    assert member.acknowledge(topic, (0, 3, ACCEPT)) == 0
    fill(bootstrap, topic, 6)
    assert [group] in share_groups(bootstrap, "--list")
    offsets = share_groups(bootstrap, "--describe", "--group", group, "--offsets")
    assert offsets[0] == ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
    # Kafka writes its start down later than what was accepted: the lag is right, the start lags.
    assert offsets[1] == [group, topic, "0", "4" if brokers.target() == "tidegate" else "0", "6"]
    assert share_groups(bootstrap, "--describe", "--group", group, "--state")[1][-2:] == ["Stable", "1"]
    shown = share_groups(bootstrap, "--describe", "--group", group, "--members")
    assert member.member_id in shown[1]
    member.end_session()
    member.leave()
    share_groups(bootstrap, "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert share_groups(bootstrap, "--describe", "--group", group, "--offsets")[-1] == [group, topic, "0", "0", "10"]
    share_groups(bootstrap, "--delete", "--group", group)
    assert [group] not in share_groups(bootstrap, "--list")
