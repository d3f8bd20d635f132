"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup by hand: every version, and what only errors show."""

import time
from collections.abc import Callable

import pytest

from compat_tests.groups.administration import described
from compat_tests.groups.conftest import GROUP_MAX_SIZE
from compat_tests.groups.member import Member, subscription
from compat_tests.waiting import eventually

ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID = 22, 23, 24, 25
INVALID_SESSION_TIMEOUT, REBALANCE_IN_PROGRESS, GROUP_MAX_SIZE_REACHED = 26, 27, 81

MakeMember = Callable[..., Member]


# -- alone


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins(make_member: MakeMember, version: int) -> None:
    member = make_member(version=version)
    answer = member.join()
    assert (answer.generation_id, answer.protocol_name, answer.leader) == (1, "range", member.member_id)
    assert [(each.member_id, bytes(each.metadata)) for each in answer.members] == [
        (member.member_id, subscription("t"))
    ]
    assert member.member_id.startswith("compat-")
    if version >= 7:
        assert answer.protocol_type == "consumer"
    if version >= 9:
        assert answer.skip_assignment is False


@pytest.mark.parametrize("version", range(6))
def test_a_leader_brings_its_own_assignment(make_member: MakeMember, version: int) -> None:
    member = make_member()
    member.join()
    answer = member.sync({member.member_id: b"assigned"}, version)
    assert (answer.error_code, bytes(answer.assignment)) == (0, b"assigned")
    if version >= 5:
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize("version", range(5))
def test_a_member_heartbeats(make_member: MakeMember, version: int) -> None:
    member = make_member()
    member.settle()
    assert member.heartbeat(version) == 0


@pytest.mark.parametrize("version", range(6))
def test_a_member_leaves(make_member: MakeMember, version: int) -> None:
    member = make_member()
    member.settle()
    answer = member.leave(version)
    assert answer.error_code == 0
    if version >= 3:
        assert [(each.member_id, each.error_code) for each in answer.members] == [(member.member_id, 0)]
    assert member.heartbeat() == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(6))
def test_who_is_not_a_member_cannot_leave(make_member: MakeMember, version: int) -> None:
    make_member().settle()
    stranger = make_member(member_id="stranger")
    answer = stranger.leave(version)
    if version >= 3:
        assert (answer.error_code, [each.error_code for each in answer.members]) == (0, [UNKNOWN_MEMBER_ID])
    else:
        assert answer.error_code == UNKNOWN_MEMBER_ID


def test_leaving_a_group_that_does_not_exist(make_member: MakeMember) -> None:
    answer = make_member(member_id="m").leave()
    assert (answer.error_code, [each.error_code for each in answer.members]) == (0, [UNKNOWN_MEMBER_ID])


# -- together


def test_two_members_share_a_generation(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    first = one.join()
    second = two.joined()
    assert (first.generation_id, second.generation_id) == (2, 2)
    assert first.leader == second.leader == one.member_id
    assert {each.member_id for each in first.members} == {one.member_id, two.member_id}
    assert second.members == []


def test_a_follower_waits_for_the_leaders_assignment(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    two.joined()
    two.start(two.sync_request())
    assert one.sync({one.member_id: b"1", two.member_id: b"2"}).error_code == 0
    assert bytes(two.receive().assignment) == b"2"


def test_a_member_without_an_assignment_gets_an_empty_one(make_member: MakeMember) -> None:
    one = make_member()
    one.join()
    answer = one.sync({})
    assert (answer.error_code, bytes(answer.assignment)) == (0, b"")


def test_the_protocol_with_most_votes_is_selected(make_member: MakeMember) -> None:
    metadata = subscription("t")
    names = [("a", "b"), ("b", "a"), ("b", "a", "c")]
    members = [make_member(protocols=tuple((name, metadata) for name in each)) for each in names]
    members[0].join()
    for member in members[1:]:
        member.take_id()  # a round of joins waits for who has taken an id
        member.start_join()
    assert members[0].join().protocol_name == "b"
    assert {member.joined().protocol_name for member in members[1:]} == {"b"}


def test_a_leader_that_joins_again_rebalances_the_group(make_member: MakeMember) -> None:
    member = make_member()
    member.settle()
    assert member.join().generation_id == 2


def test_a_follower_that_joins_again_unchanged_does_not(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    two.joined()
    one.sync({two.member_id: b"2"})
    assert two.join().generation_id == 2
    assert bytes(two.sync().assignment) == b"2"
    assert one.heartbeat() == 0


def test_a_follower_with_another_subscription_rebalances_the_group(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    two.joined()
    one.sync({two.member_id: b"2"})
    two.protocols = (("range", subscription("t", "u")),)
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    assert two.joined().generation_id == 3


def test_a_lost_join_answer_can_be_asked_for_again(make_member: MakeMember) -> None:
    member = make_member()
    member.join()
    again = member.join()
    assert (again.generation_id, len(again.members)) == (1, 1)


def test_a_member_that_leaves_makes_the_others_rebalance(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    two.joined()
    one.sync()
    assert one.leave().error_code == 0
    assert two.heartbeat() == REBALANCE_IN_PROGRESS
    answer = two.join()
    assert (answer.generation_id, answer.leader) == (3, two.member_id)


# -- refusals


def test_a_group_needs_a_name(make_member: MakeMember) -> None:
    member = make_member()
    assert member.wire.ask(member.join_request(group_id="")).error_code == INVALID_GROUP_ID
    assert member.sync(group_id="").error_code == INVALID_GROUP_ID
    assert member.heartbeat(group_id="") == INVALID_GROUP_ID


@pytest.mark.parametrize("session_ms", [499, 1_800_001])
def test_a_session_timeout_out_of_bounds(make_member: MakeMember, session_ms: int) -> None:
    member = make_member()
    answer = member.wire.ask(member.join_request(session_timeout_ms=session_ms))
    assert answer.error_code == INVALID_SESSION_TIMEOUT


def test_a_member_that_nobody_knows(make_member: MakeMember) -> None:
    make_member().settle()
    stranger = make_member(member_id="stranger", generation=1)
    answer = stranger.wire.ask(stranger.join_request())
    assert (answer.error_code, answer.member_id) == (UNKNOWN_MEMBER_ID, "stranger")
    assert stranger.heartbeat() == UNKNOWN_MEMBER_ID
    assert stranger.sync().error_code == UNKNOWN_MEMBER_ID


def test_a_group_that_nobody_knows(make_member: MakeMember) -> None:
    stranger = make_member(member_id="stranger", generation=1)
    assert stranger.wire.ask(stranger.join_request()).error_code == UNKNOWN_MEMBER_ID
    assert stranger.heartbeat() == UNKNOWN_MEMBER_ID
    assert stranger.sync().error_code == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("generation", [0, 2])
def test_another_generation(make_member: MakeMember, generation: int) -> None:
    member = make_member()
    member.settle()
    member.generation = generation
    assert member.heartbeat() == ILLEGAL_GENERATION
    assert member.sync().error_code == ILLEGAL_GENERATION


@pytest.mark.parametrize("version", [0, 4, 9])
@pytest.mark.parametrize(
    "changes",
    [{"protocols": (("other", b""),)}, {"protocol_type": "connect"}],
    ids=["protocol", "type"],
)
def test_a_protocol_that_the_others_do_not_know(
    make_member: MakeMember, version: int, changes: dict[str, object]
) -> None:
    make_member().settle()
    other = make_member(version=version, **changes)
    answer = other.wire.ask(other.join_request())
    assert answer.error_code == INCONSISTENT_GROUP_PROTOCOL
    assert answer.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("changes", [{"protocols": ()}, {"protocol_type": ""}], ids=["protocols", "type"])
def test_a_first_member_needs_a_protocol(make_member: MakeMember, changes: dict[str, object]) -> None:
    member = make_member(**changes)
    assert member.wire.ask(member.join_request()).error_code == INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_with_another_protocol(make_member: MakeMember) -> None:
    member = make_member()
    member.join()
    assert member.sync(protocol_name="other").error_code == INCONSISTENT_GROUP_PROTOCOL
    assert member.sync(protocol_type="other").error_code == INCONSISTENT_GROUP_PROTOCOL
    assert member.sync(protocol_type=None).error_code == INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_while_the_group_prepares_to_rebalance(make_member: MakeMember) -> None:
    one, two = make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    assert one.sync().error_code == REBALANCE_IN_PROGRESS


def test_a_follower_that_waits_is_told_of_another_rebalance(make_member: MakeMember) -> None:
    one, two, three = make_member(), make_member(), make_member()
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    two.joined()
    two.start(two.sync_request())
    three.start_join()
    assert two.receive().error_code == REBALANCE_IN_PROGRESS


def test_a_group_has_a_greatest_size(make_member: MakeMember) -> None:
    members = [make_member(version=3) for _ in range(GROUP_MAX_SIZE)]
    members[0].settle()
    for member in members[1:]:
        member.start_join()
    eventually(members[0].heartbeat, REBALANCE_IN_PROGRESS)
    members[0].join()
    for member in members[1:]:
        member.joined()
    last = make_member()
    answer = last.wire.ask(last.join_request())
    assert answer.error_code == GROUP_MAX_SIZE_REACHED


# -- time


def test_a_silent_member_is_out_after_its_session(make_member: MakeMember) -> None:
    member, other = make_member(session_ms=500), make_member()
    member.settle()
    eventually(lambda: described(other.wire, member.group)[0].group_state, "Empty")
    assert member.heartbeat() == UNKNOWN_MEMBER_ID


def test_heartbeats_keep_a_session(make_member: MakeMember) -> None:
    member = make_member(session_ms=2000)
    member.settle()
    until = time.monotonic() + 2.8
    while time.monotonic() < until:
        assert member.heartbeat() == 0
        time.sleep(0.1)


def test_a_round_of_joins_does_not_wait_longer_than_the_rebalance_timeout(make_member: MakeMember) -> None:
    one, two = make_member(rebalance_ms=800), make_member(rebalance_ms=800)
    one.settle()
    two.start_join()
    answer = two.joined()  # though `one` never joins again
    assert (answer.generation_id, [each.member_id for each in answer.members]) == (2, [two.member_id])
    assert one.heartbeat() == UNKNOWN_MEMBER_ID


def test_who_does_not_sync_in_time_is_out(make_member: MakeMember) -> None:
    one, two = make_member(rebalance_ms=800), make_member(rebalance_ms=800)
    one.settle()
    two.start_join()
    eventually(one.heartbeat, REBALANCE_IN_PROGRESS)
    one.join()
    two.joined()
    one.sync({one.member_id: b"1", two.member_id: b"2"})
    eventually(two.heartbeat, UNKNOWN_MEMBER_ID)
    assert one.heartbeat() == REBALANCE_IN_PROGRESS


def test_an_id_that_nobody_joins_with_does_not_hold_up_the_others_for_long(make_member: MakeMember) -> None:
    one, pending = make_member(), make_member(session_ms=700)
    one.settle()
    pending.take_id()
    began = time.monotonic()
    assert one.join().generation_id == 2
    assert 0.3 < time.monotonic() - began < 5


def test_an_id_may_leave_before_it_has_joined(make_member: MakeMember) -> None:
    one, pending = make_member(), make_member()
    one.settle()
    pending.take_id()
    one.start_join()
    assert [each.error_code for each in pending.leave().members] == [0]
    assert one.joined().generation_id == 2
