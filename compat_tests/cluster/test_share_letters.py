"""Share groups over several nodes, as one looks at them from outside: what is in hand anywhere, and dead letters whose
leader is killed while they wait."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from compat_tests.admin import admin_client
from compat_tests.conftest import unique_name
from compat_tests.share.asking import set_group
from compat_tests.share.member import REJECT, ShareMember
from compat_tests.waiting import eventually
from tests.tools.cli.conftest import run
from tools.chaos.cluster import ChaosCluster

MakeTopic = Callable[..., str]
PARTITIONS = 6
PATIENCE_S = 60.0


def leader_of(cluster: ChaosCluster, topic: str, index: int) -> int:
    standing = cluster.standing()
    return next(node for node in cluster.nodes if index in standing.led_by(node, topic))


def prepare(cluster: ChaosCluster, topic: str, partitions: int) -> str:
    """A record in each partition, and a group that begins with it."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for index in range(partitions):
        producer.produce(topic, b"v%d" % index, partition=index)
    assert producer.flush(PATIENCE_S) == 0
    group = unique_name("looked-at")
    address = next(iter(cluster.nodes.values())).bootstrap
    assert set_group(address, group, {"share.auto.offset.reset": "earliest"}) == 0
    return group


def take(cluster: ChaosCluster, group: str, topic: str, index: int) -> ShareMember:
    """A member that has the first record of a partition, of its leader."""
    member = ShareMember(cluster.nodes[leader_of(cluster, topic, index)].bootstrap, group)

    def taken() -> list[int]:
        return member.fetch(topic, index, max_wait_ms=1_000).offsets

    eventually(taken, [0], PATIENCE_S)
    return member


def test_what_is_in_hand_is_told_whoever_leads_the_partitions(
    cluster: ChaosCluster, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(PARTITIONS)
    group = prepare(cluster, topic, PARTITIONS)
    leaders = {leader_of(cluster, topic, index) for index in range(PARTITIONS)}
    assert len(leaders) > 1, "partitions of several leaders"
    members = [take(cluster, group, topic, index) for index in range(PARTITIONS)]
    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", cluster.bootstrap)
    rows = run("share", "in-flight", group, "-o", "json").data
    assert [(row["partition"], row["member_id"]) for row in rows] == [
        (index, member.member_id) for index, member in enumerate(members)
    ]
    released = run("share", "release", group, "--yes", "-o", "json").data
    assert released["released"] == PARTITIONS
    assert run("share", "in-flight", group, "-o", "json").data == []
    for member in members:
        member.close()


def set_policy(cluster: ChaosCluster, topic: str, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for done in admin_client(cluster.bootstrap).incremental_alter_configs([resource]).values():
        done.result(30)


def test_letters_of_a_leader_that_is_killed_are_sent_by_the_next_and_nobody_fetches(
    cluster: ChaosCluster, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    group, letters = prepare(cluster, topic, 1), f"{topic}.dlq"
    # Records without keys cannot be written there: the letter has to wait.
    made = NewTopic(letters, 1, 3, config={"cleanup.policy": "compact"})
    admin_client(cluster.bootstrap).create_topics([made])[letters].result(30)
    cluster.wait_until_whole(PATIENCE_S)
    member = take(cluster, group, topic, 0)
    assert member.acknowledge(topic, (0, 0, REJECT)) == 0
    member.close()
    killed = leader_of(cluster, topic, 0)
    cluster.nodes[killed].kill()

    def count() -> int:
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "x", "log_level": 0})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(letters, 0), 10)[1])
        finally:
            consumer.close()

    eventually(lambda: cluster.standing().leaders.get((topic, 0), -1) in {*cluster.nodes} - {killed}, True, PATIENCE_S)
    eventually(
        lambda: cluster.standing().leaders.get((letters, 0), -1) in {*cluster.nodes} - {killed}, True, PATIENCE_S
    )
    assert count() == 0
    set_policy(cluster, letters, "delete")
    eventually(count, 1, PATIENCE_S)
