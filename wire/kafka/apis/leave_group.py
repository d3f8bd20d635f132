"""LeaveGroup (13), versions 0-5: members leave, or an administrator removes them.

Several at once from version 3 (KIP-345), where a static member may be named by its instance alone; with a
reason from version 5 (KIP-800). Before version 3 the one member's error is the response's.
"""

from collections.abc import Sequence
from operator import attrgetter

import trio

from coordinators.group.groups import Groups
from coordinators.group.requests import LeaveAnswer, LeavingMember
from coordinators.waiting import result_of
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import READ_GROUP, Need, Rights
from wire.kafka.slices import SLICE, slices_of

KEY = 13
VERSIONS = (0, 5)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    refuse=lambda _request, _version, error: LeaveGroupResponse(error_code=error_code(error)),
)

FIRST_BATCHED_VERSION = 3


def handle(request: LeaveGroupRequest, context: Context, groups: Groups) -> Later[LeaveGroupResponse]:
    """Let them go."""
    batched = context.version >= FIRST_BATCHED_VERSION
    members = request.members if batched else [MemberIdentity(member_id=request.member_id)]
    if len(members) <= SLICE:
        return _leave(request.group_id, members, batched, groups)
    return _leave_in_slices(request, groups)


async def _leave_in_slices(request: LeaveGroupRequest, groups: Groups) -> LeaveGroupResponse:
    whole = LeaveGroupResponse(members=[])
    for some in slices_of(request.members):
        answer = await result_of(_leave(request.group_id, some, True, groups))
        if answer.error_code:
            return LeaveGroupResponse(error_code=answer.error_code)
        whole.members += answer.members
        await trio.lowlevel.checkpoint()
    return whole


def _leave(
    group_id: str, members: Sequence[MemberIdentity], batched: bool, groups: Groups
) -> Deferred[LeaveGroupResponse]:
    leaving = [LeavingMember(each.member_id, each.group_instance_id, each.reason or "") for each in members]

    def response(answer: LeaveAnswer) -> LeaveGroupResponse:
        codes = [0 if error is None else error_code(error) for error in answer]
        if not batched:
            return LeaveGroupResponse(error_code=codes[0])
        left = zip(members, codes, strict=True)
        return LeaveGroupResponse(
            members=[MemberResponse(each.member_id, each.group_instance_id, code) for each, code in left]
        )

    return groups.leave(group_id, leaving).map(response, _refused)


def _refused(error: BrokerError) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error_code(error))
