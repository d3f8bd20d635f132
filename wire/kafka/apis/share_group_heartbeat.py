"""ShareGroupHeartbeat (76), version 1: join, live in and leave a share group (KIP-932).

Epoch 0 joins, -1 leaves. Fields that are null are as they were. The client makes its member id. The answer has an
assignment only if it is new, or the request told what the member wants. Version 0 was of a trial and is not served.
"""

from operator import attrgetter

from coordinators.group.consumer.requests import HeartbeatAnswer
from coordinators.group.groups import Groups
from coordinators.group.share.requests import ShareHeartbeatRequest
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import DESCRIBE_TOPIC, READ_GROUP, Need, NeedEvery, Rights

KEY = 76
VERSIONS = (1, 1)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    NeedEvery(DESCRIBE_TOPIC, lambda request: request.subscribed_topic_names or ()),
    refuse=lambda _request, _version, error: _refused(error),
)


def handle(
    request: ShareGroupHeartbeatRequest, context: Context, groups: Groups
) -> Deferred[ShareGroupHeartbeatResponse]:
    """Answer where the member is now."""
    names = request.subscribed_topic_names
    heartbeat = ShareHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        rack_id=request.rack_id,
        topics=None if names is None else tuple(names),
        client_id=context.client_id or "",
        client_host=f"/{context.peer.address}",
    )
    return groups.share_heartbeat(heartbeat).map(_answered, _refused)


def _refused(error: BrokerError) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error_code(error), error_message=str(error))


def _answered(answer: HeartbeatAnswer) -> ShareGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        topics = sorted(answer.assignment.items())
        assignment = Assignment([TopicPartitions(topic_id, sorted(indexes)) for topic_id, indexes in topics])
    return ShareGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
