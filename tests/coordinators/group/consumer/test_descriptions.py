"""Consumer groups as administrators see them."""

from coordinators.group.consumer.descriptions import describe_consumer_group
from coordinators.group.consumer.requests import DescribedPlaces
from coordinators.group.descriptions import listed
from tests.coordinators.group.classic_consumer import ClassicConsumer
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, topic_id


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
