"""Kafka's own tools: ConsumerGroupCommand, ConsumerPerformance, VerifiableConsumer, and the decoders of the topic."""

import re
import subprocess
from collections.abc import Callable

import pytest

from compat_tests.groups.consumers import consumers, share, wait_until
from compat_tests.groups.java_tools import GROUPS, MakeTopic, consumes_and_commits, fill, rows
from compat_tests.groups.member import Member
from compat_tests.java.tool import console_text, tool
from tools.reference.java import java_command

MakeMember = Callable[..., Member]


def test_offsets_and_lag_are_described(
    bootstrap: str, make_topic: MakeTopic, make_member: MakeMember, group: str
) -> None:
    topic = make_topic(partitions=2)
    fill(bootstrap, topic, 10, 2)
    member = make_member()
    member.commit(topic, 2, partition=0)
    member.commit(topic, 5, partition=1)
    found = rows(tool(GROUPS, bootstrap, "--describe", "--group", group))
    assert [row[1:6] for row in found] == [[topic, "0", "2", "5", "3"], [topic, "1", "5", "5", "0"]]


def test_members_and_state_are_described(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=3)
    with consumers(bootstrap, group, topic) as start:
        member = start()
        wait_until(lambda: share([member], topic, 3), [member])
        (row,) = rows(tool(GROUPS, bootstrap, "--describe", "--group", group, "--members"))
        assert row[2:5] == ["/127.0.0.1", "rdkafka", "3"]
        (state,) = rows(tool(GROUPS, bootstrap, "--describe", "--group", group, "--state"))
        assert state[-3:] == ["range", "Stable", "1"]
        assert "The group is not empty" in tool(GROUPS, bootstrap, "--delete", "--group", group)


def test_groups_are_listed(bootstrap: str, make_topic: MakeTopic, make_member: MakeMember, group: str) -> None:
    make_member().commit(make_topic(), 1)
    assert group in tool(GROUPS, bootstrap, "--list").split()
    shown = tool(GROUPS, bootstrap, "--list", "--state", "Empty")
    assert [group, "Empty"] in [line.split() for line in shown.splitlines()]


@pytest.mark.parametrize(
    ("scenario", "offset"),
    [
        (("--to-earliest",), "0"),
        (("--to-latest",), "10"),
        (("--to-offset", "4"), "4"),
        (("--shift-by", "-2"), "5"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_offsets_are_reset(
    bootstrap: str,
    make_topic: MakeTopic,
    make_member: MakeMember,
    group: str,
    scenario: tuple[str, ...],
    offset: str,
) -> None:
    topic = make_topic()
    fill(bootstrap, topic, 10)
    member = make_member()
    member.commit(topic, 7)
    shown = tool(GROUPS, bootstrap, "--reset-offsets", "--group", group, "--topic", topic, *scenario, "--execute")
    assert rows(shown) == [[group, topic, "0", offset]]
    assert member.fetch(topic).committed_offset == int(offset)


def test_offsets_and_groups_are_deleted(
    bootstrap: str, make_topic: MakeTopic, make_member: MakeMember, group: str
) -> None:
    topic, other = make_topic(), make_topic()
    member = make_member()
    member.commit(topic, 1)
    member.commit(other, 2)
    tool(GROUPS, bootstrap, "--delete-offsets", "--group", group, "--topic", topic)
    assert (member.fetch(topic).committed_offset, member.fetch(other).committed_offset) == (-1, 2)
    assert "was successful" in tool(GROUPS, bootstrap, "--delete", "--group", group)
    assert member.fetch(other).committed_offset == -1


def test_consumer_performance(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=3)
    fill(bootstrap, topic, 300, 3)
    shown = tool("ConsumerPerformance", bootstrap, "--topic", topic, "--num-records", "300", "--group", group)
    assert re.search(r", 300, ", shown), shown


def test_verifiable_consumers(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=2)
    fill(bootstrap, topic, 40, 2)
    consumes_and_commits(bootstrap, topic, group, "classic", count=40)


def test_java_and_python_members_share_a_topic(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=4)
    where = ("--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group, "--group-protocol", "classic")
    java = subprocess.Popen(
        java_command("VerifiableConsumer", *where), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with consumers(bootstrap, group, topic) as start:
            members = [start("confluent"), start("kafkapython"), start("aio")]
            wait_until(lambda: all(len(member.assigned) == 1 for member in members), members)
            held = {place for member in members for place in member.assigned}
            assert len(held) == 3
            java.terminate()
            java.wait(20)
            wait_until(lambda: sum(len(member.assigned) for member in members) == 4, members)
    finally:
        java.kill()
        java.wait()


@pytest.mark.parametrize(
    ("formatter", "expected"),
    [
        ("OffsetsMessageFormatter", '"offset":3,'),
        ("GroupMetadataMessageFormatter", '"protocolType":"consumer"'),
    ],
)
def test_kafkas_decoders_read_the_topic(
    bootstrap: str, make_topic: MakeTopic, make_member: MakeMember, group: str, formatter: str, expected: str
) -> None:
    member = make_member()
    member.settle()
    member.commit(make_topic(), 3, metadata="note", leader_epoch=0)
    member.leave()
    ours = re.compile(f'"group":"{group}"(?:(?!"group":).)*{re.escape(expected)}')
    shown = console_text(
        bootstrap,
        *("--topic", "__consumer_offsets", "--from-beginning"),
        *("--formatter", f"org.apache.kafka.tools.consumer.{formatter}"),
        until=ours.search,
    )
    assert ours.search(shown), shown[-3000:]
