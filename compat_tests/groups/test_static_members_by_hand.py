"""Static members (KIP-345) by hand: they come back without a rebalance, and fence who they were."""

import time
from collections.abc import Callable

import pytest

from compat_tests.groups.administration import described
from compat_tests.groups.member import Member, subscription
from compat_tests.waiting import eventually

UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID = 25, 27, 82

MakeMember = Callable[..., Member]


def pair(make_member: MakeMember, **options: object) -> tuple[Member, Member]:
    """A stable group of two static members; the first leads."""
    leader = make_member(instance="first", **options)
    leader.settle()
    follower = make_member(instance="second", **options)
    follower.start_join()
    eventually(leader.heartbeat, REBALANCE_IN_PROGRESS)
    leader.join()
    follower.joined()
    leader.sync({leader.member_id: b"1", follower.member_id: b"2"})
    assert bytes(follower.sync().assignment) == b"2"
    return leader, follower


@pytest.mark.parametrize("version", range(5, 10))
def test_a_static_member_joins_at_once(make_member: MakeMember, version: int) -> None:
    member = make_member(instance="static", version=version)
    answer = member.join()
    assert answer.member_id.startswith("static-")
    assert [each.group_instance_id for each in answer.members] == ["static"]


@pytest.mark.parametrize("version", range(5, 10))
def test_a_follower_comes_back_without_a_rebalance(make_member: MakeMember, version: int) -> None:
    leader, follower = pair(make_member)
    back = make_member(instance="second", version=version)
    answer = back.join()
    assert answer.generation_id == follower.generation
    assert answer.leader == leader.member_id
    assert answer.member_id != follower.member_id
    assert answer.members == []
    assert bytes(back.sync().assignment) == b"2"
    assert leader.heartbeat() == 0


@pytest.mark.parametrize("version", range(5, 10))
def test_a_leader_comes_back_without_a_rebalance(make_member: MakeMember, version: int) -> None:
    leader, follower = pair(make_member)
    back = make_member(instance="first", version=version)
    answer = back.join()
    assert answer.generation_id == leader.generation
    if version >= 9:
        assert (answer.leader, answer.skip_assignment) == (back.member_id, True)
        assert {each.group_instance_id for each in answer.members} == {"first", "second"}
    else:
        assert (answer.leader, answer.members) == (leader.member_id, [])
    assert bytes(back.sync().assignment) == b"1"
    assert follower.heartbeat() == 0


def test_who_it_was_is_fenced(make_member: MakeMember) -> None:
    _, follower = pair(make_member)
    make_member(instance="second").join()
    assert follower.heartbeat() == FENCED_INSTANCE_ID
    assert follower.sync().error_code == FENCED_INSTANCE_ID
    assert follower.wire.ask(follower.join_request()).error_code == FENCED_INSTANCE_ID
    assert follower.commit("t", 1) in (FENCED_INSTANCE_ID, 3)
    assert [each.error_code for each in follower.leave().members] == [FENCED_INSTANCE_ID]


def test_a_join_that_waits_is_fenced(make_member: MakeMember) -> None:
    leader, follower = pair(make_member)
    leader.start_join()
    eventually(follower.heartbeat, REBALANCE_IN_PROGRESS)
    back = make_member(instance="first")
    back.start_join()
    assert leader.receive().error_code == FENCED_INSTANCE_ID
    follower.join()
    assert back.joined().generation_id == 3


def test_coming_back_while_the_group_syncs_rebalances_it(make_member: MakeMember) -> None:
    leader, follower = pair(make_member)
    leader.start_join()
    eventually(follower.heartbeat, REBALANCE_IN_PROGRESS)
    follower.join()
    leader.joined()
    back = make_member(instance="second")
    back.start_join()
    eventually(leader.heartbeat, REBALANCE_IN_PROGRESS)
    assert leader.join().generation_id == 4
    assert back.joined().generation_id == 4


def test_coming_back_with_another_protocol_rebalances_the_group(make_member: MakeMember) -> None:
    metadata = subscription("t")
    both = (("a", metadata), ("b", metadata))
    leader, follower = make_member(instance="first", protocols=both), make_member(instance="second", protocols=both)
    leader.settle()
    follower.start_join()
    eventually(leader.heartbeat, REBALANCE_IN_PROGRESS)
    assert leader.join().protocol_name == "a"
    follower.joined()
    leader.sync()
    back = make_member(instance="second", protocols=(("b", metadata),))
    back.start_join()
    eventually(leader.heartbeat, REBALANCE_IN_PROGRESS)
    assert leader.join().protocol_name == "b"
    assert back.joined().generation_id == 3


def test_an_instance_that_nobody_knows(make_member: MakeMember) -> None:
    leader, _ = pair(make_member)
    stranger = make_member(instance="third", member_id=leader.member_id, generation=2)
    assert stranger.heartbeat() == UNKNOWN_MEMBER_ID
    assert [each.error_code for each in stranger.leave().members] == [UNKNOWN_MEMBER_ID]


def test_static_members_are_removed_by_their_instances(make_member: MakeMember) -> None:
    leader, follower = pair(make_member)
    answer = leader.remove([("", "second"), ("", "third")])
    assert [(each.group_instance_id, each.error_code) for each in answer.members] == [
        ("second", 0),
        ("third", UNKNOWN_MEMBER_ID),
    ]
    assert follower.heartbeat() == UNKNOWN_MEMBER_ID
    assert leader.heartbeat() == REBALANCE_IN_PROGRESS


def test_a_static_member_that_stays_away_is_out_after_its_session(make_member: MakeMember) -> None:
    leader, follower = pair(make_member, session_ms=2500)
    deadline = time.monotonic() + 20
    while leader.heartbeat() == 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert leader.join().generation_id == 3
    assert follower.heartbeat() == UNKNOWN_MEMBER_ID


def test_a_round_of_joins_keeps_static_members_that_did_not_join(make_member: MakeMember) -> None:
    leader, _ = pair(make_member, rebalance_ms=600)
    answer = leader.join()
    assert {each.group_instance_id for each in answer.members} == {"first", "second"}
    (group,) = described(leader.wire, leader.group)
    assert len(group.members) == 2
