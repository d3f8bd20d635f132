"""Java's consumers and Kafka's own tools with groups of the new consumer protocol."""

import subprocess

import pytest

from compat_tests import admin
from compat_tests.brokers import target
from compat_tests.conftest import unique_name
from compat_tests.groups.broker import mortal_broker
from compat_tests.groups.consumer_member import ConsumerMember
from compat_tests.groups.consumers import consumers, share, wait_until
from compat_tests.groups.java_tools import GROUPS, MakeTopic, consumes_and_commits, fill, rows
from compat_tests.java.tool import tool
from tools.reference.java import java_command, java_tool

NEW = "confluentnew"


def test_verifiable_consumers(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=2)
    fill(bootstrap, topic, 40, 2)
    consumes_and_commits(bootstrap, topic, group, "consumer", count=40)


def test_java_and_librdkafka_members_share_a_topic(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=4)
    where = ("--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group, "--group-protocol", "consumer")
    java = subprocess.Popen(
        java_command("VerifiableConsumer", *where), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with consumers(bootstrap, group, topic) as start:
            members = [start(NEW), start(NEW), start("confluent", strategy="range")]
            wait_until(lambda: all(len(member.assigned) == 1 for member in members), members, seconds=60)
            java.terminate()
            java.wait(20)
            wait_until(lambda: share(members, topic, 4), members, seconds=60)
    finally:
        java.kill()
        java.wait()


def test_a_group_is_described(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(partitions=3)
    with consumers(bootstrap, group, topic) as start:
        member = start(NEW)
        wait_until(lambda: share([member], topic, 3), [member])
        (row,) = rows(tool(GROUPS, bootstrap, "--describe", "--group", group, "--members", "--verbose"))
        assert row[2:5] == ["/127.0.0.1", "rdkafka", "3"]
        assert f"{topic}:0,1,2" in row
        (state,) = rows(tool(GROUPS, bootstrap, "--describe", "--group", group, "--state"))
        assert state[-3:] == ["uniform", "Stable", "1"]
        listed = [line.split() for line in tool(GROUPS, bootstrap, "--list", "--type", "--state").splitlines()]
        assert [group, "Consumer", "Stable"] in listed
        assert "The group is not empty" in tool(GROUPS, bootstrap, "--delete", "--group", group)
        member.close()
    assert "was successful" in tool(GROUPS, bootstrap, "--delete", "--group", group)


def test_offsets_of_a_group_without_members_are_reset(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic()
    fill(bootstrap, topic, 10)
    with consumers(bootstrap, group, topic) as start:
        member = start(NEW)
        wait_until(lambda: len(member.records) == 10, [member])
        member.close()
    shown = tool(
        GROUPS, bootstrap, "--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "4", "--execute"
    )
    assert rows(shown) == [[group, topic, "0", "4"]]
    with consumers(bootstrap, group, topic) as start:
        member = start(NEW)
        wait_until(lambda: [offset for _, offset, _ in member.records] == [4, 5, 6, 7, 8, 9], [member])


@pytest.mark.skipif(target() == "kafka", reason="the files of Tidegate")
def test_kafkas_decoder_reads_the_records() -> None:
    with mortal_broker({"offsets.topic.num.partitions": "1"}) as broker:
        topic = unique_name("decoded")
        admin.create_topic(broker.bootstrap, topic, 2, {})
        with consumers(broker.bootstrap, "g", topic) as start:
            classic = start("confluent", strategy="range")
            wait_until(lambda: share([classic], topic, 2), [classic])
            member = ConsumerMember(broker.bootstrap, "g", "m", instance="i")
            member.join(topic, subscribed_topic_regex=f"{topic}.*", rack_id="r", server_assignor="range")
            member.leave()
            member.close()
        segments = sorted((broker.directory / "data" / "topics").glob("*/0/*.log"))
        shown = ""
        for segment in segments:
            done = java_tool("DumpLogSegments", "--offsets-decoder", "--files", str(segment))
            assert done.returncode == 0, done.stderr
            shown += done.stdout
    expected = (
        '"type":"3"',
        '"type":"5"',
        '"type":"6"',
        '"type":"7"',
        '"type":"8"',
        '"type":"16"',
        f'"subscribedTopicNames":["{topic}"],"subscribedTopicRegex":"{topic}.*"',
        '"serverAssignor":"range"',
        '"classicMemberMetadata":{"sessionTimeoutMs":6000,"supportedProtocols":[{"name":"range"',
        '"assignmentEpochs":[',
    )
    for each in expected:
        assert each in shown, f"no {each} in\n{shown[-6000:]}"
