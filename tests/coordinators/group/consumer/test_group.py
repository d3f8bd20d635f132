"""The state of a consumer group, as records make it."""

import pytest

from coordinators.group.consumer.group import ConsumerGroup, ConsumerGroupState, MemberState
from coordinators.group.consumer.record_formats import CurrentValue, EpochValue, RegexValue, SubscriptionValue
from coordinators.state_machine import Verdict
from engine.errors import FencedInstanceId, UnknownMemberId
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard
from tests.coordinators.group.shard import read_all

T = b"t" * 16


def group_of(*members: str) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for member_id in members:
        group.replay_subscription(member_id, SubscriptionValue(topics=("t",)))
    return group


def test_its_state_follows_from_the_epochs() -> None:
    group = group_of()
    assert group.state is ConsumerGroupState.EMPTY
    group.replay_subscription("a", SubscriptionValue())
    group.replay_epoch(EpochValue(1))
    assert group.state is ConsumerGroupState.ASSIGNING
    group.assignment_epoch = 1
    assert group.state is ConsumerGroupState.RECONCILING
    group.replay_current("a", CurrentValue(1, 0, 1, {}, {}))
    assert group.state is ConsumerGroupState.STABLE
    group.replay_current("a", CurrentValue(1, 1, 3, {}, {}))
    assert group.state is ConsumerGroupState.RECONCILING


def test_a_partition_belongs_to_its_member_until_it_was_given_back() -> None:
    group = group_of("a")
    group.replay_current("a", CurrentValue(1, 0, 1, {T: {0: 1, 1: 1}}, {}))
    group.replay_current("a", CurrentValue(1, 0, 2, {T: {0: 1}}, {T: {1: 1}}))
    assert (group.owner(T, 0), group.owner(T, 1), group.owner(T, 2)) == ("a", "a", None)
    group.replay_current("a", CurrentValue(2, 1, 1, {T: {0: 1}}, {}))
    assert group.owner(T, 1) is None
    group.replay_subscription("a", None)
    assert group.owner(T, 0) is None


def test_records_of_a_member_may_come_in_any_order() -> None:
    group = group_of()
    group.replay_current("a", CurrentValue(1, 0, 1, {T: {0: 1}}, {}))
    group.replay_subscription("a", SubscriptionValue("i", topics=("t",)))
    assert (group.members["a"].epoch, group.owner(T, 0)) == (1, "a")
    assert group.static_member("i") is group.members["a"]


def test_a_state_of_a_later_version_is_not_understood() -> None:
    group = group_of("a")
    group.replay_current("a", CurrentValue(1, 0, 9, {}, {}))
    assert group.members["a"].state is MemberState.UNKNOWN


def test_a_static_member_is_known_by_its_name() -> None:
    group = group_of()
    group.replay_subscription("a", SubscriptionValue("i"))
    assert group.known_static_member("i", "a").member_id == "a"
    with pytest.raises(FencedInstanceId):
        group.known_static_member("i", "b")
    group.replay_subscription("a", None)
    with pytest.raises(UnknownMemberId):
        group.known_static_member("i", "a")


def test_expressions_count_as_what_they_stand_for() -> None:
    group = group_of("a")
    group.replay_subscription("b", SubscriptionValue(regex="x.*"))
    assert not group.is_subscribed_to("xy")
    group.replay_regex("x.*", RegexValue(("xy",), 1, 0))
    assert group.is_subscribed_to("xy")
    assert group.is_subscribed_to("t")
    group.replay_regex("x.*", None)
    assert not group.is_subscribed_to("xy")


def test_the_assignor_that_most_members_ask_for() -> None:
    group = group_of("a")
    assert group.preferred_assignor(group.members.values()) is None
    for member_id, assignor in {"b": "range", "c": "range", "d": "uniform"}.items():
        group.replay_subscription(member_id, SubscriptionValue(assignor=assignor))
    assert group.preferred_assignor(group.members.values()) == "range"


def test_the_end_of_a_group_leaves_nothing_but_offsets() -> None:
    shard = ConsumerShard()
    shard.topic("t", 2)
    Consumer(shard, "a", options={"regex": "t", "instance_id": "i"}).join()
    written = {record.key for _, records in read_all(shard.partition) for record in records}
    tombstones = shard.group.tombstones()
    assert {record.key for record in tombstones} == written
    shard.ask(lambda _: Verdict(tombstones))
    assert shard.machine.consumers.groups == {}
    assert shard.replayed().hard_state() == shard.machine.hard_state()
