"""Heartbeats, syncs and leaves."""

import pytest

from coordinators.group.requests import LeavingMember, SyncRequest
from engine.errors import (
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMemberId,
)
from tests.coordinators.group.shard import PENDING, Shard


def test_a_heartbeat_writes_nothing(shard: Shard) -> None:
    member = shard.settled_member()
    end = shard.partition.log.end_offset
    shard.heartbeat(member, 1)
    assert shard.partition.log.end_offset == end


def test_a_heartbeat_of_another_generation(shard: Shard) -> None:
    member = shard.settled_member()
    with pytest.raises(IllegalGeneration):
        shard.heartbeat(member, 2)


def test_a_heartbeat_to_a_group_that_does_not_exist(shard: Shard) -> None:
    with pytest.raises(UnknownMemberId):
        shard.heartbeat("m", 1)


def test_a_heartbeat_tells_of_a_rebalance(shard: Shard) -> None:
    member = shard.settled_member()
    shard.join()
    with pytest.raises(RebalanceInProgress):
        shard.heartbeat(member, 1)


def test_a_sync_with_another_protocol(shard: Shard) -> None:
    member = shard.join().message.member_id
    request = SyncRequest("g", member, None, 1, "consumer", "other")
    assert isinstance(shard.ask(lambda m: m.membership.sync(request)).message, InconsistentGroupProtocol)


def test_a_second_sync_of_a_follower_answers_the_first(shard: Shard) -> None:
    leader = shard.settled_member()
    follower = shard.join()
    shard.join(leader)
    first = shard.sync(follower.message.member_id, 2)
    second = shard.sync(follower.message.member_id, 2)
    assert isinstance(first.message, RebalanceInProgress)
    shard.sync(leader, 2, {follower.message.member_id: b"yours"})
    assert second.message.assignment == b"yours"


def test_several_leave_at_once_and_each_is_answered(shard: Shard) -> None:
    one = shard.settled_member()
    answers = shard.leave(one, "stranger", LeavingMember("", "nobody")).message
    assert answers[0] is None
    assert [type(answer) for answer in answers[1:]] == [UnknownMemberId, UnknownMemberId]


def test_who_leaves_while_it_waits_is_answered(shard: Shard) -> None:
    shard.settled_member()
    newcomer = shard.join()
    assert newcomer.message == PENDING
    (waiting,) = [member for member in shard.machine.groups["g"].members.values() if member.join is not None]
    shard.leave(waiting.member_id)
    assert isinstance(newcomer.message, UnknownMemberId)


def test_leaving_a_group_that_does_not_exist(shard: Shard) -> None:
    assert [type(each) for each in shard.leave("m").message] == [UnknownMemberId]
