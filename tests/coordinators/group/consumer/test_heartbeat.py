"""Joining, living and leaving in a group of the new consumer protocol."""

from typing import Any

import pytest

from coordinators.group.config import GroupSettings
from coordinators.group.consumer.group import ConsumerGroupState, MemberState
from coordinators.group.consumer.requests import HeartbeatRequest
from coordinators.group.pace import HeartbeatPace
from coordinators.group.requests import OffsetToCommit
from engine.errors import (
    FencedInstanceId,
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidRegularExpression,
    InvalidRequest,
    UnknownMemberId,
    UnreleasedInstanceId,
    UnsupportedAssignor,
)
from tests.coordinators.group.consumer_shard import Consumer, ConsumerShard, places, settle, topic_id, topic_of

T = topic_id("t")


@pytest.fixture
def shard() -> ConsumerShard:
    shard = ConsumerShard()
    shard.topic("t", 4)
    return shard


# -- joining


def test_the_first_member_gets_everything(shard: ConsumerShard) -> None:
    answer = shard.joined("a", "t")
    assert (answer.member_id, answer.epoch, answer.assignment) == ("a", 1, {T: {0, 1, 2, 3}})
    assert shard.group.state is ConsumerGroupState.STABLE


def test_a_member_without_an_id_is_given_one(shard: ConsumerShard) -> None:
    assert len(shard.joined("", "t", brings_member_id=False).member_id) == 36


def test_a_second_member_waits_for_what_the_first_gives_back_and_the_rest_never_stops(shard: ConsumerShard) -> None:
    a, b = Consumer(shard, "a"), Consumer(shard, "b")
    a.join()
    b.join()
    assert (b.epoch, b.owned) == (2, {}), "nothing is free yet"
    assert a.beat().assignment == {T: {0, 1}}, "the others are to be given back"
    assert (b.beat().assignment, shard.group.state) == (None, ConsumerGroupState.RECONCILING)
    a.beat()
    assert b.beat().assignment == {T: {2, 3}}
    assert shard.group.state is ConsumerGroupState.STABLE
    assert {index for _, index in a.stopped} == {2, 3}


def test_a_heartbeat_that_changes_nothing_writes_nothing(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a")
    a.join()
    a.beat()
    end = shard.partition.log.end_offset
    answer = a.beat()
    assert (answer.assignment, answer.epoch, shard.partition.log.end_offset) == (None, 1, end)


def test_a_request_that_says_everything_is_answered_with_everything(shard: ConsumerShard) -> None:
    shard.joined("a", "t")
    owned = {T: frozenset({0, 1, 2, 3})}
    answer = shard.beat("a", 1, topics=("t",), owned=owned, rebalance_timeout_ms=60_000)
    assert answer.assignment == owned


def test_topics_that_do_not_exist_are_not_an_error_and_are_assigned_when_they_do(shard: ConsumerShard) -> None:
    assert shard.joined("a", "later").assignment == {}
    shard.topic("later", 2)
    assert shard.beat("a", 1).assignment == {topic_id("later"): {0, 1}}


@pytest.mark.parametrize(
    ("epoch", "changes", "error"),
    [
        (0, {"member_id": ""}, InvalidRequest),
        (0, {"rebalance_timeout_ms": -1}, InvalidRequest),
        (0, {"owned": None}, InvalidRequest),
        (0, {"owned": {T: frozenset({0})}}, InvalidRequest),
        (0, {"topics": None}, InvalidRequest),
        (0, {"instance_id": ""}, InvalidRequest),
        (0, {"rack_id": ""}, InvalidRequest),
        (0, {"assignor": "mine"}, UnsupportedAssignor),
        (0, {"regex": "("}, InvalidRegularExpression),
        (-2, {}, InvalidRequest),
        (-3, {}, InvalidRequest),
        (1, {}, GroupIdNotFound),
        (-1, {}, GroupIdNotFound),
    ],
)
def test_heartbeats_that_make_no_sense_are_refused(
    shard: ConsumerShard, epoch: int, changes: dict[str, Any], error: type[Exception]
) -> None:
    given = {"member_id": "a", "topics": ("t",), "owned": {}, "rebalance_timeout_ms": 1000, **changes}
    assert isinstance(shard.beat(given.pop("member_id"), epoch, **given), error)
    assert shard.machine.consumers.groups == {}


def test_a_full_group_takes_nobody_new(shard: ConsumerShard) -> None:
    shard.settings = GroupSettings(consumer_max_size=1)
    shard.start()
    shard.joined("a", "t")
    assert isinstance(shard.joined("b", "t"), GroupMaxSizeReached)
    assert shard.joined("a", "t").epoch == 1


# -- epochs


def test_a_member_in_another_epoch_is_fenced_and_may_join_again(shard: ConsumerShard) -> None:
    shard.joined("a", "t")
    assert isinstance(shard.beat("a", 2), FencedMemberEpoch)
    assert isinstance(shard.beat("b", 1), UnknownMemberId)
    again = shard.joined("a", "t")
    assert (again.epoch, again.assignment) == (1, {T: {0, 1, 2, 3}})


def test_a_member_whose_answer_was_lost_may_come_in_its_last_epoch(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a")
    a.join()
    shard.joined("b", "u")
    a.beat()
    assert shard.group.members["a"].epoch == 2
    assert isinstance(shard.beat("a", 1), FencedMemberEpoch), "it does not say what it owns"
    assert isinstance(shard.beat("a", 1, owned={T: frozenset({9})}), FencedMemberEpoch)
    assert shard.beat("a", 1, owned={T: frozenset({0})}).epoch == 2


# -- leaving


def test_the_share_of_a_member_that_leaves_goes_to_the_others(shard: ConsumerShard) -> None:
    a, b = Consumer(shard, "a"), Consumer(shard, "b")
    a.join()
    b.join()
    settle(a, b)
    assert b.leave().epoch == -1
    assert shard.group.state is ConsumerGroupState.ASSIGNING
    assert a.beat().assignment == {T: {0, 1, 2, 3}}


def test_a_silent_member_is_taken_out_when_its_session_ends(shard: ConsumerShard) -> None:
    a, b = Consumer(shard, "a"), Consumer(shard, "b")
    a.join()
    b.join()
    settle(a, b)
    for _ in range(5):
        shard.advance(10_000)
        a.beat()
    assert set(shard.group.members) == {"a"}
    assert isinstance(b.beat(), UnknownMemberId)
    assert len(places(a.owned)) == 4


def test_a_member_that_does_not_give_back_in_time_is_taken_out(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a", options={"rebalance_timeout_ms": 20_000})
    a.join()
    Consumer(shard, "b").join()
    a.beat()
    assert shard.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    shard.advance(10_000)
    shard.beat("a", a.epoch)
    shard.beat("b", 2)
    shard.advance(10_001)
    assert set(shard.group.members) == {"b"}
    assert shard.beat("b", 2).assignment == {T: {0, 1, 2, 3}}


def test_after_a_restart_members_go_on_and_have_new_sessions(shard: ConsumerShard) -> None:
    a, b = Consumer(shard, "a"), Consumer(shard, "b")
    a.join()
    b.join()
    settle(a, b)
    before = shard.machine.hard_state()
    shard.crash()
    assert shard.machine.hard_state() == before
    shard.advance(44_000)
    assert a.beat().assignment is None
    shard.advance(2_000)
    assert set(shard.group.members) == {"a"}


# -- static members


def test_a_static_member_that_will_be_back_keeps_its_share(shard: ConsumerShard) -> None:
    a, b = (Consumer(shard, name, options={"instance_id": f"i-{name}"}) for name in "ab")
    a.join()
    b.join()
    settle(a, b)
    share, epoch = b.owned, shard.group.epoch
    assert b.leave(-2).epoch == -2
    assert a.beat().assignment is None, "nobody takes it meanwhile"
    back = Consumer(shard, "b2", options={"instance_id": "i-b"})
    back.join()
    assert (back.owned, shard.group.epoch, set(shard.group.members)) == (share, epoch, {"a", "b2"})
    assert isinstance(b.beat(), FencedInstanceId)


def test_a_static_member_that_does_not_come_back_is_taken_out(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a", options={"instance_id": "i"})
    a.join()
    a.leave(-2)
    shard.advance(45_001)
    assert shard.group.members == {}


def test_a_name_that_is_in_use_is_not_given_to_another(shard: ConsumerShard) -> None:
    shard.joined("a", "t", instance_id="i")
    assert isinstance(shard.joined("b", "t", instance_id="i"), UnreleasedInstanceId)
    assert isinstance(shard.beat("b", 1, instance_id="i"), FencedInstanceId)
    assert isinstance(shard.beat("a", 1, instance_id="other"), UnknownMemberId)
    assert shard.joined("a", "t", instance_id="i").epoch == 1


def test_a_static_member_that_leaves_for_good_gives_up_its_share(shard: ConsumerShard) -> None:
    shard.joined("a", "t", instance_id="i")
    assert shard.beat("a", -1, instance_id="i").epoch == -1
    assert shard.group.members == {}


# -- topics and expressions


def test_added_partitions_are_assigned(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a")
    a.join()
    shard.topic("t", 6)
    assert a.beat().assignment == {T: {0, 1, 2, 3, 4, 5}}


def test_a_deleted_topic_is_given_back(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a", topics=("t", "u"))
    shard.topic("u", 1)
    a.join()
    shard.delete_topic("u")
    assert a.beat().assignment == {T: {0, 1, 2, 3}}
    a.beat()
    assert shard.group.state is ConsumerGroupState.STABLE


def test_an_expression_stands_for_the_topics_of_the_day(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a", topics=(), options={"regex": "t.*"})
    a.join()
    shard.topic("t2", 1)
    shard.topic("other", 1)
    a.beat()
    assert a.owned == {T: {0, 1, 2, 3}, topic_id("t2"): {0}}
    assert shard.group.regexes["t.*"].topics == ("t", "t2")
    shard.delete_topic("t2")
    a.beat()
    assert a.owned == {T: {0, 1, 2, 3}}


def test_an_expression_that_nobody_uses_is_forgotten(shard: ConsumerShard) -> None:
    shard.joined("a", regex="t.*")
    shard.joined("b", regex="t.*")
    shard.beat("a", 1, regex="x")
    assert set(shard.group.regexes) == {"t.*", "x"}
    shard.beat("b", -1)
    assert set(shard.group.regexes) == {"x"}
    answer = shard.beat("a", 1, regex="", owned={T: frozenset()})
    assert (shard.group.regexes, answer.assignment) == ({}, None)


def test_after_a_restart_changes_of_topics_are_noticed(shard: ConsumerShard) -> None:
    a = Consumer(shard, "a", topics=(), options={"regex": "t.*"})
    a.join()
    a.beat()
    shard.topics.add(topic_of("t9", 1))
    assert a.beat().assignment is None
    shard.crash()
    assert set(a.beat().assignment) == {T, topic_id("t9")}


def test_the_assignor_that_most_ask_for_is_used(shard: ConsumerShard) -> None:
    consumers = [Consumer(shard, name, options={"assignor": "range"}) for name in "ab"]
    consumers.append(Consumer(shard, "c", options={"assignor": "uniform"}))
    for each in consumers:
        each.join()
    settle(*consumers)
    assert [sorted(each.owned[T]) for each in consumers] == [[0, 1], [2], [3]]


# -- the other protocol


def test_an_empty_classic_group_becomes_a_consumer_group_and_keeps_its_offsets(shard: ConsumerShard) -> None:
    member_id = shard.settled_member()
    shard.leave(member_id)
    shard.commit(OffsetToCommit("t", 0, 5))
    assert shard.joined("a", "t").epoch == 1
    assert shard.machine.groups == {}
    assert shard.fetch("t").offset == 5
    before = shard.machine.hard_state()
    shard.crash()
    assert shard.machine.hard_state() == before


def test_a_consumer_group_with_members_takes_no_classic_members_of_another_kind(shard: ConsumerShard) -> None:
    shard.joined("a", "t")
    assert isinstance(shard.join(protocol_type="connect").message, InconsistentGroupProtocol)


# -- when to come back


def test_members_come_back_soon_where_they_are_few_and_seldom_where_they_are_many(shard: ConsumerShard) -> None:
    assert shard.joined("a", "t").heartbeat_interval_ms == 200
    shard.machine.heartbeats.pace = HeartbeatPace(100, lambda: 250)
    assert shard.beat("a", 1).heartbeat_interval_ms == 2_500
    shard.machine.heartbeats.pace = HeartbeatPace(100, lambda: 10_000)
    assert shard.beat("a", 1).heartbeat_interval_ms == 5_000


@pytest.mark.parametrize(
    ("request_", "is_full"),
    [
        (HeartbeatRequest("g", "m", 1), False),
        (HeartbeatRequest("g", "m", 1, topics=("t",), owned={}, rebalance_timeout_ms=1), True),
        (HeartbeatRequest("g", "m", 1, regex="t", owned={}, rebalance_timeout_ms=1), True),
        (HeartbeatRequest("g", "m", 1, topics=("t",), owned={}), False),
        (HeartbeatRequest("g", "m", 1, topics=("t",), rebalance_timeout_ms=1), False),
        (HeartbeatRequest("g", "m", 1, owned={}, rebalance_timeout_ms=1), False),
    ],
)
def test_a_request_is_full_that_says_everything(request_: HeartbeatRequest, is_full: bool) -> None:
    assert request_.is_full is is_full


# -- what a group has chosen


def test_a_group_obeys_times_of_its_own(shard: ConsumerShard) -> None:
    shard.configs.take({"g": ({"consumer.session.timeout.ms": "1000", "consumer.heartbeat.interval.ms": "700"}, 1)})
    assert shard.joined("a", "t").heartbeat_interval_ms == 700
    shard.advance(900)
    assert shard.group.members
    shard.advance(200)
    assert not shard.group.members
    shard.configs.take({"g": ({}, 0)})
    assert shard.joined("a", "t").heartbeat_interval_ms == 200
