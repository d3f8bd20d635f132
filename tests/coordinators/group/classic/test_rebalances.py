"""Rebalances where their timing matters; how they go is told by the scenario files."""

import errno

import pytest

from coordinators.group.classic.group import GroupState
from coordinators.group.config import GroupSettings
from engine.errors import BrokerError, UnknownMemberId
from tests.coordinators.group.shard import PENDING, Shard


def test_an_answer_of_the_leaders_sync_waits_for_the_disk(shard: Shard) -> None:
    answer = shard.join().message
    shard.hold = True
    heard = shard.sync(answer.member_id, 1, {answer.member_id: b"mine"})
    assert heard.message == PENDING
    shard.hold = False
    shard.settle()
    assert heard.message.assignment == b"mine"


def test_a_member_is_out_when_its_session_ends_and_not_before(shard: Shard) -> None:
    member = shard.settled_member()
    shard.advance(9_000)
    shard.heartbeat(member, 1)
    shard.advance(9_999)
    shard.heartbeat(member, 1)
    shard.advance(10_001)
    with pytest.raises(UnknownMemberId):
        shard.heartbeat(member, 1)


def test_a_session_begins_anew_after_a_restart(shard: Shard) -> None:
    member = shard.settled_member()
    shard.advance(9_000)
    shard.crash()
    shard.advance(9_000)
    shard.heartbeat(member, 1)
    assert shard.machine.groups["g"].state is GroupState.STABLE


def test_who_does_not_sync_in_time_is_out(shard: Shard) -> None:
    answer = shard.join(session_timeout_ms=100_000, rebalance_timeout_ms=5_000).message
    shard.advance(5_001)
    with pytest.raises(UnknownMemberId):
        shard.heartbeat(answer.member_id, 1)
    assert shard.machine.groups["g"].state is GroupState.EMPTY


def test_the_first_round_waits_no_longer_than_the_rebalance_timeout() -> None:
    shard = Shard(GroupSettings(initial_rebalance_delay_ms=3_000))
    first = shard.join(rebalance_timeout_ms=7_000)
    for _ in range(6):
        shard.advance(1_000)
        shard.join(rebalance_timeout_ms=7_000)
    assert first.message == PENDING
    shard.advance(1_000)
    assert len(first.message.members) == 7


def test_a_write_that_fails_loads_the_shard_again_and_nobody_waits_for_ever(shard: Shard) -> None:
    member = shard.settled_member()
    follower = shard.join()
    leader = shard.join(member)
    waiting = shard.sync(follower.message.member_id, 2)
    shard.files.fail_at(1, errno.ENOSPC, only=frozenset({"write", "writev", "append"}))
    failed = shard.sync(leader.message.member_id, 2, {})
    shard.files.stop_failing()
    assert isinstance(failed.message, BrokerError)
    assert isinstance(waiting.message, BrokerError)
    shard.advance(100)
    assert shard.machine.groups["g"].generation == 1
