"""Heartbeat (12), versions 0-4: a member of a classic group lives, and learns that its group rebalances.

While the group's shard is being loaded the answer is that all is well, as in Kafka.
"""

from operator import attrgetter

from coordinators.group.groups import Groups
from engine.errors import BrokerError, InvalidGroupId
from wire.kafka.errors import error_code
from wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from wire.kafka.request import Context
from wire.kafka.rights import READ_GROUP, Need, Rights

KEY = 12
VERSIONS = (0, 4)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    refuse=lambda _request, _version, error: HeartbeatResponse(error_code=error_code(error)),
)


def handle(request: HeartbeatRequest, _: Context, groups: Groups) -> HeartbeatResponse:
    """Take note of the member."""
    try:
        if not request.group_id:
            raise InvalidGroupId("a group needs a name")
        groups.heartbeat(request.group_id, request.member_id, request.group_instance_id, request.generation_id)
    except BrokerError as error:
        return HeartbeatResponse(error_code=error_code(error))
    return HeartbeatResponse()
