"""What a member does about each answer of its coordinator, and what it deals out when it leads."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.group.consumer.protocol import read_assignment, write_assignment, write_subscription
from engine.errors import BrokerError, CoordinatorNotAvailable, GroupAuthorizationFailed, InconsistentGroupProtocol
from tests.wire.inner.office import deal
from wire.inner.assignors import ASSIGNORS
from wire.inner.memberships import DoorMembership
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from wire.kafka.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from wire.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from wire.kafka.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from wire.kafka.messages.sync_group import SyncGroupResponse

MINE = write_assignment({"t": frozenset({0})}, 1)


class Script:
    """Answers in turn; raises what is an error."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, message: Any, version: int | None = None, *, wait_s: float = 0.0) -> Any:
        await trio.lowlevel.checkpoint()
        self.asked.append(message)
        answer = self.answers.pop(0)
        if isinstance(answer, BrokerError):
            raise answer
        return answer


def membership(script: Script, any_node: Script | None = None) -> DoorMembership:
    return DoorMembership(script, any_node or Script(), deal, trio.sleep, "g", ("t",), 30_000, 60_000)


def joined(leader: str = "other", **more: Any) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=3, protocol_type="consumer", protocol_name="range", leader=leader, member_id="me", **more
    )


@trio_test
async def test_a_new_member_takes_its_id_and_its_assignment(autojump_clock: MockClock) -> None:
    needs_id = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me")
    script = Script(needs_id, joined(), SyncGroupResponse(assignment=MINE))
    member = membership(script)
    assert await member.join() == {("t", 0)}
    assert [each.member_id for each in script.asked] == ["", "me", "me"]
    first: JoinGroupRequest = script.asked[0]
    assert [each.name for each in first.protocols] == list(ASSIGNORS)
    assert not member.leads


@pytest.mark.parametrize(
    ("code", "next_id"),
    [
        (ErrorCode.UNKNOWN_MEMBER_ID, ""),
        (ErrorCode.ILLEGAL_GENERATION, "me"),
        (ErrorCode.REBALANCE_IN_PROGRESS, "me"),
        (ErrorCode.NOT_COORDINATOR, "me"),
    ],
)
@trio_test
async def test_a_sync_that_is_refused_begins_another_round(
    autojump_clock: MockClock, code: ErrorCode, next_id: str
) -> None:
    script = Script(joined(), SyncGroupResponse(error_code=code), joined(), SyncGroupResponse(assignment=MINE))
    assert await membership(script).join() == {("t", 0)}
    assert script.asked[2].member_id == next_id


@trio_test
async def test_who_leads_deals_out_what_all_of_them_want(autojump_clock: MockClock) -> None:
    members = [
        JoinGroupResponseMember("me", metadata=write_subscription(["t"])),
        JoinGroupResponseMember("you", metadata=write_subscription(["t", "u"])),
        JoinGroupResponseMember("mad", metadata=b"?"),
    ]
    topics = [
        MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition(partition_index=n) for n in range(2)]),
        MetadataResponseTopic(name="u", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    script = Script(joined("me", members=members), SyncGroupResponse(assignment=MINE))
    member = membership(script, Script(MetadataResponse(topics=topics)))
    await member.join()
    dealt = {each.member_id: read_assignment(each.assignment)[0] for each in script.asked[1].assignments}
    assert dealt == {"me": {"t": {0}}, "you": {"t": {1}}, "mad": {}}
    assert (member.leads, member.counts, member.wanted) == (True, {"t": 2}, {"t", "u"})


@trio_test
async def test_what_cannot_be_mended_is_told(autojump_clock: MockClock) -> None:
    with pytest.raises(InconsistentGroupProtocol):
        await membership(Script(JoinGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))).join()
    with pytest.raises(GroupAuthorizationFailed):
        await membership(Script(HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))).beat()


@trio_test
async def test_heartbeats_say_whether_to_join_again(autojump_clock: MockClock) -> None:
    codes = (0, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID)
    answers = [HeartbeatResponse(error_code=code) for code in codes]
    member = membership(Script(*answers, CoordinatorNotAvailable("away")))
    assert [await member.beat() for _ in range(5)] == [True, False, True, False, True]


@trio_test
async def test_who_was_never_in_need_not_leave(autojump_clock: MockClock) -> None:
    script = Script(joined(), SyncGroupResponse(assignment=MINE), LeaveGroupResponse())
    member = membership(script)
    await member.leave("never in")
    await member.join()
    await member.leave("done")
    assert isinstance(script.asked[-1], LeaveGroupRequest)
    assert not any(isinstance(each, HeartbeatRequest) for each in script.asked)
    assert (member.member_id, member.generation, member.assigned) == ("", -1, frozenset())
