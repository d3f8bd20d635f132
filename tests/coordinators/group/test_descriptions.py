"""Groups as administrators and tracing see them."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.group.consumer.requests import DescribedPlaces
from coordinators.group.descriptions import PartitionLag, describe, describe_consumer_group, group_clients, listed
from coordinators.group.requests import OffsetToCommit
from engine.errors import GroupIdNotFound
from tests.coordinators.group.classic_consumer import ClassicConsumer
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, topic_id
from tests.coordinators.group.shard import Shard
from tests.wire.kafka.groups import group_door
from tests.wire.kafka.requests import batch, produce
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def test_a_stable_group_shows_what_its_members_said_and_got(shard: Shard) -> None:
    member_id = shard.settled_member(instance="static")
    group = describe(shard.machine, "g")
    (member,) = group.members
    assert (group.state, group.protocol_type, group.protocol) == ("Stable", "consumer", "range")
    assert (member.member_id, member.instance_id, member.client_host) == (member_id, "static", "/h")
    assert (member.subscription, member.assignment) == (b"subscription", b"mine")


def test_a_rebalance_hides_them(shard: Shard) -> None:
    shard.settled_member()
    shard.join()
    group = describe(shard.machine, "g")
    assert (group.state, group.protocol, len(group.members)) == ("PreparingRebalance", "", 2)
    assert {member.assignment for member in group.members} == {b""}


def test_who_only_keeps_offsets_is_an_empty_group(shard: Shard) -> None:
    shard.commit(OffsetToCommit("t", 0, 1))
    (group,) = listed(shard.machine)
    assert (group.group_id, group.protocol_type, group.state, group.type) == ("g", "", "Empty", "classic")


def test_a_group_that_does_not_exist(shard: Shard) -> None:
    with pytest.raises(GroupIdNotFound, match="Group g not found"):
        describe(shard.machine, "g")


def test_a_group_is_described_with_what_members_have_and_shall_have() -> None:
    shard = ConsumerShard()
    shard.topic("t", 2)
    Consumer(shard, "a", options={"rack_id": "r", "instance_id": "i"}).join()
    ClassicConsumer(shard).join()
    found = describe_consumer_group(shard.group, shard.topics, "uniform")
    assert (found.state, found.epoch, found.assignment_epoch, found.assignor) == ("Reconciling", 2, 2, "uniform")
    new, old = found.members
    assert (new.member_id, new.instance_id, new.rack_id, new.topics, new.is_classic) == ("a", "i", "r", ("t",), False)
    assert new.assignment == (DescribedPlaces(topic_id("t"), "t", (0, 1)),)
    assert new.target == (DescribedPlaces(topic_id("t"), "t", (0,)),)
    assert (old.is_classic, old.assignment) == (True, ())


def test_a_topic_that_is_gone_has_no_name_and_is_left_out() -> None:
    shard = ConsumerShard()
    shard.topic("t", 2)
    Consumer(shard, "a").join()
    shard.delete_topic("t")
    (member,) = describe_consumer_group(shard.group, shard.topics, "uniform").members
    assert member.assignment == ()


def test_groups_of_both_protocols_are_listed() -> None:
    shard = ConsumerShard()
    shard.topic("t", 1)
    Consumer(shard, "a").join()
    (group,) = listed(shard.machine)
    assert (group.type, group.protocol_type, group.state) == ("consumer", "consumer", "Stable")


@trio_test
async def test_lag_is_the_end_less_the_committed_offset(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(produce("t", batch(5)), 9)
        await door.commit(2)
        assert door.door.broker.node.groups.lag("g") == [PartitionLag("t", 0, 2, 5)]
        assert [each.lag for each in door.door.broker.node.groups.lag("g")] == [3]


def test_who_committed_beyond_the_end_is_not_behind() -> None:
    assert PartitionLag("t", 0, 9, 5).lag == 0


@trio_test
async def test_members_of_both_protocols(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        machines = door.door.broker.node.groups.runtime.machines
        assert list(group_clients(machines())) == []
        await (await door.member()).settle()
        heartbeat = ConsumerGroupHeartbeatRequest(
            "new", member_id="m" * 22, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        assert (await door.client.ask(heartbeat)).error_code == 0
        found = {group: (reads, clients) for group, reads, clients in group_clients(machines())}
        assert {group: clients for group, (_, clients) in found.items()} == {
            "g": [("test", "127.0.0.1")],
            "new": [("test", "127.0.0.1")],
        }
        for reads, _ in found.values():
            assert reads("t")
            assert not reads("elsewhere")
