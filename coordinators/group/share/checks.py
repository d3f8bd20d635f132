"""Which heartbeats of share groups are taken at all, and which member epochs."""

from coordinators.group.share.group import JOIN_EPOCH, LEAVE_EPOCH, ShareMember
from coordinators.group.share.requests import ShareHeartbeatRequest
from engine.errors import FencedMemberEpoch, InvalidRequest

MEMBER_ID_LENGTH_MAX = 36
"""That of an id in its usual form, which clients make themselves."""


def check_share_heartbeat(request: ShareHeartbeatRequest) -> None:
    """Raises if the request does not make sense, whatever the group."""
    named = {"MemberId": request.member_id, "GroupId": request.group_id, "RackId": request.rack_id}
    for name, value in named.items():
        if value is not None and not value.strip():
            raise InvalidRequest(f"{name} can't be empty.")
    if len(request.member_id) > MEMBER_ID_LENGTH_MAX:
        raise InvalidRequest(f"MemberId must be at most {MEMBER_ID_LENGTH_MAX} characters long.")
    if request.epoch == JOIN_EPOCH:
        if not request.topics:
            raise InvalidRequest("SubscribedTopicNames must be set in first request.")
    elif request.epoch < LEAVE_EPOCH:
        raise InvalidRequest(f"MemberEpoch is invalid: {request.epoch}.")


def check_share_epoch(member: ShareMember, epoch: int) -> None:
    """A member is in its epoch; or in the one before, if the answer that raised it was lost."""
    if epoch in (member.epoch, member.previous_epoch):
        return
    than = "greater" if epoch > member.epoch else "smaller"
    raise FencedMemberEpoch(
        f"The share group member has a {than} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin."
    )
