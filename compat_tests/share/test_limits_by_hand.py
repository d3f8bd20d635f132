"""How long a share fetch waits, how many sessions there may be, and who is asked that does not lead."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from compat_tests import admin, brokers
from compat_tests.conftest import unique_name
from compat_tests.share.asking import ask, prepare_group
from compat_tests.share.conftest import SETTINGS, MakeMember, MakeTopic, make_known, warm_up
from compat_tests.share.member import ACCEPT, RELEASE, ShareMember, acquired
from compat_tests.share.sending import fill
from compat_tests.waiting import eventually
from compat_tests.wire.connection import Wire
from tools.bench.brokers import CLUSTERS, KAFKA, TIDEGATE
from tools.bench.trial import make_topics, wait_for_leaders
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, NOT_COORDINATOR = 3, 6, 16
SHARE_SESSION_NOT_FOUND, SHARE_SESSION_LIMIT_REACHED = 122, 133
PATIENCE_S = 30.0


def test_who_wants_no_bytes_does_not_wait(make_queue: MakeTopic, make_member: MakeMember) -> None:
    topic, one = make_queue(), make_member()
    one.fetch(topic, max_wait_ms=0)
    began = time.monotonic()
    assert one.fetch(topic, max_wait_ms=15_000, min_bytes=0).offsets == []
    assert time.monotonic() - began < 5


def test_the_first_fetch_of_all_waits_no_longer_than_it_wants(make_queue: MakeTopic, make_member: MakeMember) -> None:
    topic, one = make_queue(), make_member()
    began = time.monotonic()
    one.ask_fetch(topic, max_wait_ms=500)
    assert time.monotonic() - began < 3


GIVEN_BACK: dict[str, Callable[[ShareMember, str], object]] = {
    "released": lambda member, topic: member.acknowledge(topic, (0, 0, RELEASE)),
    "released by a fetch": lambda member, topic: member.ask_fetch(topic, acks=[(0, 0, RELEASE)], max_records=0),
    "session ended": lambda member, _: member.end_session(),
    "connection cut": lambda member, _: member.close(),
}


@pytest.mark.parametrize("how", GIVEN_BACK)
def test_who_waits_is_given_what_comes_back(
    bootstrap: str, make_queue: MakeTopic, make_member: MakeMember, how: str
) -> None:
    """Kafka gives it too, but when the wait is over: it looks while the release is not yet written down, and not again
    before something else happens to the partition."""
    topic, one, two = make_queue(), make_member(), make_member()
    fill(bootstrap, topic, 1)
    two.collect(topic, 1)
    one.fetch(topic, max_wait_ms=0)
    waiting = one.send_fetch(topic, max_wait_ms=6_000)
    time.sleep(0.5)
    began = time.monotonic()
    GIVEN_BACK[how](two, topic)
    assert acquired(one.receive_fetch(waiting)).counts == {0: 2}
    assert brokers.target() == "kafka" or time.monotonic() - began < 3


def test_who_waits_is_given_what_came_back_before_something_else_was_settled(
    bootstrap: str, make_queue: MakeTopic, make_member: MakeMember
) -> None:
    topic, one, two = make_queue(), make_member(), make_member()
    fill(bootstrap, topic, 2)
    two.collect(topic, 2)
    one.fetch(topic, max_wait_ms=0)
    waiting = one.send_fetch(topic, max_wait_ms=15_000)
    began = time.monotonic()
    assert two.acknowledge(topic, (1, 1, RELEASE)) == 0
    assert two.acknowledge(topic, (0, 0, ACCEPT)) == 0
    assert acquired(one.receive_fetch(waiting)).counts == {1: 2}
    assert time.monotonic() - began < 10


@pytest.mark.timeout(120)
def test_one_session_too_many() -> None:
    """It is refused when its wait is over; and there is room again when another is closed."""
    group = "crowded"
    limits = {"group.share.max.size": "2", "group.share.max.share.sessions": "2"}
    with brokers.broker({**SETTINGS, **limits}) as bootstrap:
        with Wire(bootstrap) as wire:
            early = ShareGroupHeartbeatRequest(group, "m1", 0, subscribed_topic_names=["t"])
            assert ask(wire, early).error_code == NOT_COORDINATOR, "nobody has asked for the coordinator yet"
        warm_up(bootstrap)
        admin.create_topic(bootstrap, "t")
        prepare_group(bootstrap, group)
        make_known(bootstrap, group, "t")
        first, second, third = (ShareMember(bootstrap, group) for _ in range(3))
        first.fetch("t", max_wait_ms=0)
        second.fetch("t", max_wait_ms=0)
        began = time.monotonic()
        assert third.ask_fetch("t", max_wait_ms=1_000).error_code == SHARE_SESSION_LIMIT_REACHED
        assert 0.9 < time.monotonic() - began < 10
        assert third.acknowledge("t", (0, 0, ACCEPT), share_session_epoch=1) == SHARE_SESSION_NOT_FOUND
        assert first.end_session() == 0
        third.fetch("t", max_wait_ms=0)
        for member in (first, second, third):
            member.close()


@contextmanager
def two_nodes() -> Iterator[str]:
    with CLUSTERS[KAFKA if brokers.target() == "kafka" else TIDEGATE](2, 1) as subject:
        yield subject.bootstrap


@pytest.mark.timeout(180)
def test_a_node_that_does_not_lead_says_who_does() -> None:
    with two_nodes() as addresses:
        topic, group = unique_name("led"), unique_name("group")
        bootstrap = addresses.split(",")[0]
        make_topics(addresses, {topic: 2}, 1)
        wait_for_leaders(addresses, {topic: 2})
        with Wire(bootstrap) as wire:
            told = ask(wire, MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12)
        nodes = {node.node_id: f"{node.host}:{node.port}" for node in told.brokers}
        (identity,) = {each.topic_id for each in told.topics}
        for partition in told.topics[0].partitions:
            (other,) = set(nodes) - {partition.leader_id}
            member = ShareMember(nodes[other], group)
            member.know(topic, bytes(identity))

            def fetched(member: ShareMember = member, index: int = partition.partition_index) -> tuple[int, int, int]:
                member.session = 0
                data = member.ask_fetch(topic, (index,), max_wait_ms=0).responses[0].partitions[0]
                return data.error_code, data.current_leader.leader_id, data.current_leader.leader_epoch

            eventually(fetched, (NOT_LEADER_OR_FOLLOWER, partition.leader_id, partition.leader_epoch), PATIENCE_S)
            member.session = 0
            (endpoint,) = member.ask_fetch(topic, (partition.partition_index,), max_wait_ms=0).node_endpoints
            assert (endpoint.node_id, f"{endpoint.host}:{endpoint.port}") == (
                partition.leader_id,
                nodes[partition.leader_id],
            )
            told_off = member.ask_acknowledge(topic, (0, 0, ACCEPT), partition=partition.partition_index)
            data = told_off.responses[0].partitions[0]
            if brokers.target() == "kafka":
                assert data.error_code == UNKNOWN_TOPIC_OR_PARTITION, "it has no such share partition"
            else:
                assert data.error_code == NOT_LEADER_OR_FOLLOWER
                assert data.current_leader.leader_id == partition.leader_id
            member.close()
