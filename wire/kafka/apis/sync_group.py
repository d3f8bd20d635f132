"""SyncGroup (14), versions 0-5: a member's assignment, which the leader brings for everybody.

The answer waits for the leader, and until the assignment is durable. From version 5 a member says which protocol
it believes to be selected (KIP-559).
"""

from operator import attrgetter

from coordinators.group.groups import Groups
from coordinators.group.requests import SyncAnswer, SyncRequest
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import READ_GROUP, Need, Rights

KEY = 14
VERSIONS = (0, 5)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    refuse=lambda _request, _version, error: SyncGroupResponse(error_code=error_code(error)),
)

FIRST_VERSION_WITH_PROTOCOL = 5


def handle(
    request: SyncGroupRequest, context: Context, groups: Groups
) -> Deferred[SyncGroupResponse] | SyncGroupResponse:
    """Give the assignment when it is known and durable."""
    if context.version >= FIRST_VERSION_WITH_PROTOCOL and None in (request.protocol_type, request.protocol_name):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    sync = SyncRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments={each.member_id: bytes(each.assignment) for each in request.assignments},
    )
    return groups.sync(sync).map(_synced, _refused)


def _refused(error: BrokerError) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error_code(error))


def _synced(answer: SyncAnswer) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=answer.protocol_type, protocol_name=answer.protocol, assignment=answer.assignment
    )
