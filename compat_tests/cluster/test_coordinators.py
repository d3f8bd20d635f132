"""Groups, transactions and held records go on with another node when theirs is killed."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, TopicPartition

from compat_tests.admin import admin_client
from compat_tests.cluster.reading import read_all
from compat_tests.conftest import unique_name
from compat_tests.waiting import eventually
from tools.chaos.campaign import running, wait_until_acknowledged
from tools.chaos.cluster import ChaosCluster
from tools.chaos.workloads import GroupHistory, Loop, Member, Plain
from tools.soak.history import judge

MakeTopic = Callable[..., str]
PARTITIONS = 3
WHOLE_S = 60.0
PATIENCE_S = 60.0


def bounce(cluster: ChaosCluster, node_id: int, away_s: float = 3.0) -> None:
    """Kill a node; others take over; it comes back."""
    cluster.nodes[node_id].kill()
    time.sleep(away_s)
    cluster.nodes[node_id].start()
    cluster.wait_until_whole(WHOLE_S)


def coordinator_of(cluster: ChaosCluster, group: str) -> int:
    """The node that looks after a group."""
    described = admin_client(cluster.bootstrap).describe_consumer_groups([group])[group].result(20)
    return int(described.coordinator.id)


def test_committed_offsets_are_there_when_the_coordinator_is_gone(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    topic, group = make_topic(PARTITIONS), unique_name("group")
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": group, "log_level": 0}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    places = [TopicPartition(topic, index, 10 + index) for index in range(PARTITIONS)]
    consumer.commit(offsets=places, asynchronous=False)
    cluster.nodes[coordinator_of(cluster, group)].kill()
    try:
        found = consumer.committed([TopicPartition(topic, index) for index in range(PARTITIONS)], timeout=PATIENCE_S)
        assert {place.partition: place.offset for place in found} == {0: 10, 1: 11, 2: 12}
    finally:
        consumer.close()


def test_a_group_goes_on_from_what_it_has_committed(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    topic = make_topic(PARTITIONS)
    history = GroupHistory(topic, unique_name("members"))
    writer = Plain(cluster.bootstrap, 1, topic, PARTITIONS)
    members = [Member(cluster.bootstrap, number, history) for number in range(2)]
    with running(*members):
        with running(writer):
            wait_until_acknowledged(writer)
            eventually(lambda: bool(history.ends), True, PATIENCE_S)
            bounce(cluster, coordinator_of(cluster, history.name))
        eventually(lambda: _unread(writer, history), [], PATIENCE_S)
    assert [failure for each in (writer, *members) for failure in each.failures] == []
    assert history.repeated == [], "what was committed is not read again"


def _unread(writer: Plain, history: GroupHistory) -> list[tuple[int, bytes]]:
    read = {(partition, mark) for partition, marks in list(history.read.items()) for mark in list(marks)}
    return [each for each in writer.acknowledged if each not in read][:3]


def test_transactions_are_whole_whoever_is_killed(cluster: ChaosCluster, make_topic: MakeTopic) -> None:
    source, copies, name = make_topic(PARTITIONS), (make_topic(PARTITIONS), make_topic(PARTITIONS)), unique_name("loop")
    writer = Plain(cluster.bootstrap, 1, source, PARTITIONS)
    loop = Loop(cluster.bootstrap, 1, source, copies, name)
    with running(loop):
        with running(writer):
            wait_until_acknowledged(writer)
            for node_id in cluster.nodes:
                committed = loop.committed
                eventually(lambda before=committed: loop.committed > before, True, PATIENCE_S)
                bounce(cluster, node_id)
        sent = read_all(cluster.bootstrap, source, PARTITIONS)
        count = sum(map(len, sent.values()))
        eventually(lambda: _count(cluster, copies[1]) >= count, True, PATIENCE_S)
    assert writer.failures == []
    for copy in copies:
        verdict = judge(sent, read_all(cluster.bootstrap, copy, PARTITIONS))
        assert verdict.clean, verdict
    assert loop.given_up, "some are given up by themselves"


def _count(cluster: ChaosCluster, topic: str) -> int:
    return sum(map(len, read_all(cluster.bootstrap, topic, PARTITIONS).values()))
