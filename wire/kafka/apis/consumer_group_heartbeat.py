"""ConsumerGroupHeartbeat (68), versions 0-1: join, live in and leave a group of the new protocol (KIP-848).

Epoch 0 joins, -1 leaves, -2 is a static member that will be back. Fields that are null, or -1, are as they were.
The answer has an assignment only if it is new or was asked for by a request that says everything. From version 1 the
client makes its member id (KIP-1082) and may subscribe by a regular expression, which stands for those topics that
the member may describe: it is told of no others.
"""

from functools import partial
from operator import attrgetter

from coordinators.access.access import AccessControl
from coordinators.group.consumer.requests import HeartbeatAnswer, HeartbeatRequest
from coordinators.group.groups import Groups
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
    ResponseTopicPartitions,
)
from wire.kafka.request import Context, Deferred
from wire.kafka.rights import DESCRIBE_TOPIC, READ_GROUP, Need, NeedEvery, Rights

KEY = 68
VERSIONS = (0, 1)
RIGHTS = Rights(
    Need(READ_GROUP, attrgetter("group_id")),
    NeedEvery(DESCRIBE_TOPIC, lambda request: request.subscribed_topic_names or ()),
    refuse=lambda _request, _version, error: _refused(error),
)

FIRST_VERSION_WITH_CLIENT_IDS = 1


def handle(
    request: ConsumerGroupHeartbeatRequest, context: Context, groups: Groups, access: AccessControl
) -> Deferred[ConsumerGroupHeartbeatResponse]:
    """Answer where the member is now."""
    names = request.subscribed_topic_names
    heartbeat = HeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=None if names is None else tuple(names),
        regex=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=None if request.topic_partitions is None else _owned(request.topic_partitions),
        client_id=context.client_id or "",
        client_host=f"/{context.peer.address}",
        brings_member_id=context.version >= FIRST_VERSION_WITH_CLIENT_IDS,
        sees=partial(access.permits, context.caller, DESCRIBE_TOPIC) if access.is_enforced else None,
    )
    return groups.consumer_heartbeat(heartbeat).map(_answered, _refused)


def _owned(topics: list[RequestTopicPartitions]) -> dict[bytes, frozenset[int]]:
    owned: dict[bytes, frozenset[int]] = {}
    for topic in topics:
        owned[topic.topic_id] = owned.get(topic.topic_id, frozenset()) | frozenset(topic.partitions)
    return owned


def _refused(error: BrokerError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error_code(error), error_message=str(error))


def _answered(answer: HeartbeatAnswer) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        topics = sorted(answer.assignment.items())
        assignment = Assignment([ResponseTopicPartitions(topic_id, sorted(indexes)) for topic_id, indexes in topics])
    return ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
