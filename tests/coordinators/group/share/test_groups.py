"""Joining, living and leaving in a share group."""

from typing import Any

import pytest

from coordinators.group.config import GroupSettings
from coordinators.group.requests import OffsetToCommit
from coordinators.group.share.group import ShareGroupState
from engine.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidRequest,
    UnknownMemberId,
)
from tests.coordinators.group.consumer_shard import topic_id
from tests.coordinators.group.share_shard import ShareConsumer, ShareShard

T, U = topic_id("t"), topic_id("u")


@pytest.fixture
def shard() -> ShareShard:
    shard = ShareShard()
    shard.topic("t", 2)
    return shard


def test_a_member_has_its_partitions_with_the_first_answer(shard: ShareShard) -> None:
    answer = shard.share_joined("a")
    assert (answer.member_id, answer.epoch, answer.assignment) == ("a", 1, {T: {0, 1}})
    assert answer.heartbeat_interval_ms == 5_000
    assert shard.shared.state is ShareGroupState.STABLE
    assert shard.shared.states.initialized[T].partitions == {0, 1}


def test_several_members_read_one_partition(shard: ShareShard) -> None:
    members = [ShareConsumer(shard, name) for name in "abcde"]
    for member in members:
        member.join()
    for member in members:
        member.beat()
    read = [index for member in members for index in member.assigned[T]]
    assert (read.count(0), read.count(1)) == (3, 3)
    assert {member.epoch for member in members} == {5}


def test_an_assignment_is_told_when_it_is_new_or_topics_were_named(shard: ShareShard) -> None:
    a, b = ShareConsumer(shard, "a"), ShareConsumer(shard, "b")
    a.join()
    assert a.beat().assignment is None
    assert a.beat(topics=("t",)).assignment == {T: {0, 1}}
    b.join()
    assert a.beat().assignment == {T: {0}}
    assert a.beat().assignment is None


def test_a_known_member_that_joins_again_has_what_it_had(shard: ShareShard) -> None:
    shard.share_joined("a")
    answer = shard.share_joined("a")
    assert (answer.epoch, answer.assignment) == (1, {T: {0, 1}})


def test_the_epoch_before_is_taken_and_no_other(shard: ShareShard) -> None:
    a = ShareConsumer(shard, "a")
    a.join()
    ShareConsumer(shard, "b").join()
    a.beat()
    assert a.epoch == 2
    assert shard.share_beat("a", 1).epoch == 2
    for wrong in (3, 7):
        assert isinstance(shard.share_beat("a", wrong), FencedMemberEpoch)


def test_who_is_not_known_is_told_so(shard: ShareShard) -> None:
    assert isinstance(shard.share_beat("a", 1), GroupIdNotFound)
    assert isinstance(shard.share_beat("a", -1), GroupIdNotFound)
    shard.share_joined("a")
    assert isinstance(shard.share_beat("b", 1), UnknownMemberId)
    assert isinstance(shard.share_beat("b", -1), UnknownMemberId)


@pytest.mark.parametrize(
    ("member_id", "epoch", "changes"),
    [
        ("", 0, {"topics": ("t",)}),
        ("x" * 37, 0, {"topics": ("t",)}),
        ("a", 0, {}),
        ("a", 0, {"topics": ()}),
        ("a", -2, {}),
        ("a", 0, {"topics": ("t",), "rack_id": ""}),
        ("a", 0, {"topics": ("t",), "group": ""}),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    shard: ShareShard, member_id: str, epoch: int, changes: dict[str, Any]
) -> None:
    assert isinstance(shard.share_beat(member_id, epoch, **changes), InvalidRequest)
    assert not shard.machine.shares.groups


def test_a_full_group_takes_nobody_else() -> None:
    shard = ShareShard(settings=GroupSettings(share_max_size=1))
    shard.topic("t", 1)
    shard.share_joined("a")
    assert isinstance(shard.share_joined("b"), GroupMaxSizeReached)
    assert shard.share_joined("a").epoch == 1


# -- other kinds of groups


def test_a_name_belongs_to_one_kind_of_group(shard: ShareShard) -> None:
    shard.share_joined("a")
    assert isinstance(shard.join().message, InconsistentGroupProtocol)
    assert isinstance(shard.commit(OffsetToCommit("t", 0, 5)).message, GroupIdNotFound)
    fetched = shard.ask(lambda machine: machine.commits.fetch("g", [("t", 0)], require_stable=False))  # type: ignore[arg-type, return-value]
    assert isinstance(fetched.message, GroupIdNotFound)
    deleted = shard.ask(lambda machine: machine.commits.delete_offsets("g", [("t", 0)]))
    assert isinstance(deleted.message, GroupIdNotFound)


def test_a_consumer_group_is_no_share_group(shard: ShareShard) -> None:
    shard.joined("a", "t")
    assert isinstance(shard.share_joined("b"), GroupIdNotFound)
    assert isinstance(shard.share_beat("a", -1), GroupIdNotFound)


def test_a_share_group_is_no_consumer_group(shard: ShareShard) -> None:
    shard.share_joined("a")
    from coordinators.group.consumer.requests import HeartbeatRequest

    request = HeartbeatRequest("g", "b", 0, rebalance_timeout_ms=1, topics=("t",), owned={})
    assert isinstance(shard.ask(lambda machine: machine.consumer_heartbeat(request)).message, GroupIdNotFound)


# -- leaving


def test_who_leaves_is_gone_and_the_others_read_all(shard: ShareShard) -> None:
    a, b = ShareConsumer(shard, "a"), ShareConsumer(shard, "b")
    a.join()
    b.join()
    assert a.leave().epoch == -1
    assert b.beat().assignment == {T: {0, 1}}
    assert list(shard.shared.members) == ["b"]


def test_who_says_nothing_is_taken_out_when_its_session_ends(shard: ShareShard) -> None:
    shard.share_joined("a")
    shard.advance(44_000)
    shard.share_beat("a", 1)
    shard.advance(44_000)
    assert shard.shared.members
    shard.advance(2_000)
    assert shard.shared.state is ShareGroupState.EMPTY
    assert (shard.shared.epoch, shard.shared.targets) == (2, {})


def test_sessions_and_intervals_are_as_the_group_has_chosen(shard: ShareShard) -> None:
    shard.configs.take({"g": ({"share.session.timeout.ms": "9000", "share.heartbeat.interval.ms": "300"}, 1)})
    assert shard.share_joined("a").heartbeat_interval_ms == 300
    shard.advance(9_001)
    assert not shard.shared.members
    shard.configs.take({"g": ({}, 0)})
    assert shard.share_joined("a").heartbeat_interval_ms == 5_000
    shard.advance(9_001)
    assert shard.shared.members


def test_members_stay_over_a_crash_and_have_new_sessions(shard: ShareShard) -> None:
    shard.share_joined("a")
    shard.advance(40_000)
    shard.crash()
    shard.advance(40_000)
    assert shard.share_beat("a", 1).epoch == 1
    assert shard.replayed().hard_state() == shard.machine.hard_state()


# -- topics


def test_a_topic_that_grows_is_read_whole(shard: ShareShard) -> None:
    a = ShareConsumer(shard, "a")
    a.join()
    shard.topic("t", 4)
    assert a.beat().assignment == {T: {0, 1, 2, 3}}
    assert shard.shared.states.initialized[T].partitions == {0, 1, 2, 3}


def test_a_topic_that_is_made_later_is_read_from_then_on(shard: ShareShard) -> None:
    a = ShareConsumer(shard, "a", ("t", "u"))
    assert a.join().assignment == {T: {0, 1}}
    shard.topic("u", 1)
    assert a.beat().assignment == {T: {0, 1}, U: {0}}


def test_a_topic_that_is_deleted_is_forgotten(shard: ShareShard) -> None:
    shard.topic("u", 1)
    a = ShareConsumer(shard, "a", ("t", "u"))
    a.join()
    shard.delete_topic("u")
    assert U not in shard.shared.states.initialized
    assert a.beat().assignment == {T: {0, 1}}
    assert shard.replayed().hard_state() == shard.machine.hard_state()


def test_what_a_member_wants_no_more_it_has_no_more(shard: ShareShard) -> None:
    shard.topic("u", 1)
    a = ShareConsumer(shard, "a", ("t", "u"))
    a.join()
    assert a.beat(topics=("u",)).assignment == {U: {0}}
    assert T in shard.shared.states.initialized, "where it was in the other stays"


def test_while_many_come_one_target_is_for_all_of_them(shard: ShareShard) -> None:
    shard.configs.take({"g": ({"share.assignment.interval.ms": "1000"}, 1)})
    a, b, c = (ShareConsumer(shard, name) for name in "abc")
    a.join()
    b.join()
    c.join()
    assert (b.epoch, b.assigned, c.assigned) == (1, {}, {}), "the last target was computed just now"
    shard.advance(1_000)
    for member in (a, b, c):
        member.beat()
    assert {member.epoch for member in (a, b, c)} == {3}
    assert all(member.assigned for member in (a, b, c))
