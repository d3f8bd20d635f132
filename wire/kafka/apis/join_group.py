"""JoinGroup (11), versions 0-9: become a member of a classic group, or join its next generation.

The answer waits for the other members. A new dynamic member is first given an id (version 4, KIP-394); a static
one (version 5, KIP-345) keeps its place under a new id. Version 0 has one timeout for session and rebalance. From
version 9 a static leader that comes back can be told not to assign anew (KIP-814).
"""

from operator import attrgetter

from coordinators.group.groups import Groups
from coordinators.group.requests import JoinAnswer, JoinRequest
from engine.errors import BrokerError, MemberIdRequired
from wire.kafka.errors import error_code
from wire.kafka.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import READ_GROUP, Need, Rights

KEY = 11
VERSIONS = (0, 9)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    refuse=lambda request, version, error: _refused(error, request.member_id, version),
)

FIRST_VERSION_WITH_TWO_TIMEOUTS = 1
FIRST_VERSION_THAT_TAKES_AN_ID = 4
FIRST_VERSION_WITHOUT_A_PROTOCOL = 7
FIRST_VERSION_THAT_SKIPS_ASSIGNMENT = 9


def handle(request: JoinGroupRequest, context: Context, groups: Groups) -> Deferred[JoinGroupResponse]:
    """Join, and answer when everybody has."""
    version = context.version
    has_two_timeouts = version >= FIRST_VERSION_WITH_TWO_TIMEOUTS
    join = JoinRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.peer.address}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if has_two_timeouts else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        reason=request.reason or "",
        takes_id_first=version >= FIRST_VERSION_THAT_TAKES_AN_ID,
        can_skip_assignment=version >= FIRST_VERSION_THAT_SKIPS_ASSIGNMENT,
    )
    return groups.join(join).map(_joined, lambda error: _refused(error, request.member_id, version))


def _refused(error: BrokerError, member_id: str, version: int) -> JoinGroupResponse:
    given_id = error.member_id if isinstance(error, MemberIdRequired) else member_id
    nothing = None if version >= FIRST_VERSION_WITHOUT_A_PROTOCOL else ""
    return JoinGroupResponse(error_code=error_code(error), protocol_name=nothing, member_id=given_id)


def _joined(answer: JoinAnswer) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol or "",
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(member.member_id, member.instance_id, member.subscription)
            for member in answer.members
        ],
    )
