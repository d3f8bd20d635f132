"""Joins: ids, room, protocols, static members."""

import errno
from collections.abc import Callable

import pytest

from coordinators.group.config import GroupSettings
from coordinators.group.consumer.group import LEAVE_EPOCH
from coordinators.group.requests import OffsetToCommit
from engine.errors import (
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from tests.coordinators.group.consumer_shard import ConsumerShard
from tests.coordinators.group.shard import PENDING, Shard
from tests.effort import growth


def test_a_new_member_is_given_an_id_that_nobody_else_has(shard: Shard) -> None:
    first, second = shard.join(takes_id_first=True).message, shard.join(takes_id_first=True).message
    assert isinstance(first, MemberIdRequired)
    assert first.member_id.startswith("c-")
    assert first.member_id != second.member_id


def test_a_refused_join_leaves_no_group_behind(shard: Shard) -> None:
    assert isinstance(shard.join(protocols=()).message, InconsistentGroupProtocol)
    assert isinstance(shard.join("stranger").message, UnknownMemberId)
    assert shard.machine.groups == {}


def test_a_join_writes_nothing(shard: Shard) -> None:
    shard.join()
    assert shard.partition.log.end_offset == 0


def test_a_second_join_of_a_member_answers_the_first(shard: Shard) -> None:
    member = shard.settled_member()
    shard.join(takes_id_first=True)
    first = shard.join(member)
    assert first.message == PENDING
    second = shard.join(member)
    assert isinstance(first.message, RebalanceInProgress)
    assert second.message == PENDING


def test_a_full_group_takes_nobody_in_but_its_members_on() -> None:
    shard = Shard(GroupSettings(initial_rebalance_delay_ms=0, max_size=1))
    member = shard.settled_member()
    assert isinstance(shard.join().message, GroupMaxSizeReached)
    assert shard.join(member).message.generation == 2


def test_a_static_member_that_returns_is_written_down(shard: Shard) -> None:
    member = shard.settled_member(instance="static")
    back = shard.join(instance="static").message
    assert (back.generation, back.skip_assignment) == (1, True)
    shard.crash()
    shard.heartbeat(back.member_id, 1, "static")
    with pytest.raises(FencedInstanceId):
        shard.heartbeat(member, 1, "static")


def test_a_join_and_a_leave_cost_the_same_in_a_group_of_any_size() -> None:
    def come_and_go(count: int) -> Callable[[], object]:
        shard = Shard(GroupSettings(initial_rebalance_delay_ms=3_000))

        def work() -> None:
            for _ in range(count):
                shard.join()
            for member_id in tuple(shard.machine.groups["g"].members):
                shard.leave(member_id)

        return work

    assert growth(come_and_go, 50) < 5


@pytest.mark.parametrize("takes_id_first", [True, False])
def test_a_group_of_the_new_protocol_without_members_makes_way_and_keeps_its_offsets(takes_id_first: bool) -> None:
    shard = ConsumerShard()
    shard.topic("t", 1)
    joined = shard.joined("m", "t")
    shard.commit(OffsetToCommit("t", 0, 7), member_id="m", generation=joined.epoch)
    shard.beat("m", LEAVE_EPOCH)
    answer = shard.join(takes_id_first=takes_id_first).message
    if takes_id_first:
        answer = shard.join(answer.member_id).message
    assert (answer.generation, shard.machine.consumers.groups) == (1, {})
    shard.sync(answer.member_id, 1, {answer.member_id: b"mine"})
    shard.crash()
    shard.heartbeat(answer.member_id, 1)
    assert shard.fetch("t").offset == 7


def test_a_group_whose_end_cannot_be_written_does_not_make_way() -> None:
    shard = ConsumerShard()
    shard.topic("t", 1)
    shard.joined("m", "t")
    shard.beat("m", LEAVE_EPOCH)
    shard.files.fail_at(1, errno.ENOSPC, only=frozenset({"write"}))
    assert isinstance(shard.join().message, CoordinatorNotAvailable)
    assert (list(shard.machine.consumers.groups), shard.machine.groups) == (["g"], {})
