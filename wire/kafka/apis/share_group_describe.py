"""ShareGroupDescribe (77), version 1: epochs, members and assignments of share groups (KIP-932).

A group that does not exist, or is of another kind, is answered with GROUP_ID_NOT_FOUND.
"""

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.group.groups import Groups
from coordinators.group.share.requests import DescribedShareGroup, DescribedShareMember
from engine.errors import BrokerError, TopicAuthorizationFailed
from wire.kafka.errors import error_code
from wire.kafka.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, Each, Rights, Within, by_text
from wire.kafka.slices import for_each

KEY = 77
VERSIONS = (1, 1)
RIGHTS = Rights(
    Each(
        DESCRIBE_GROUP,
        "group_ids",
        by_text,
        "groups",
        lambda name, error: _refused(name, error),
        ShareGroupDescribeResponse,
    ),
    Within(DESCRIBE_TOPIC),
)

HIDDEN = "The group has described topic(s) that the client is not authorized to describe."
"""As Kafka puts it."""


def handle(
    request: ShareGroupDescribeRequest, context: Context, groups: Groups, access: AccessControl
) -> Later[ShareGroupDescribeResponse]:
    """Describe each group; one named twice is described once."""
    return for_each(
        list(dict.fromkeys(request.group_ids)),
        lambda group_id: _describe(group_id, request, context, groups, access),
        lambda described: ShareGroupDescribeResponse(groups=described),
    )


def _describe(
    group_id: str, request: ShareGroupDescribeRequest, context: Context, groups: Groups, access: AccessControl
) -> Deferred[DescribedGroup]:
    caller = context.caller

    def response(found: DescribedShareGroup) -> DescribedGroup:
        if not all(access.permits(caller, DESCRIBE_TOPIC, topic) for topic in _topics(found)):
            return _refused(group_id, TopicAuthorizationFailed(HIDDEN))
        group = _group(found)
        if request.include_authorized_operations:
            group.authorized_operations = access.operations(caller, ResourceKind.GROUP, group_id)
        return group

    return groups.describe_shares(group_id).map(response, lambda error: _refused(group_id, error))


def _topics(found: DescribedShareGroup) -> set[str]:
    """Whatever the answer tells of."""
    return {place.topic for member in found.members for place in member.assignment}


def _group(found: DescribedShareGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=found.group_id,
        group_state=found.state,
        group_epoch=found.epoch,
        assignment_epoch=found.assignment_epoch,
        assignor_name=found.assignor,
        members=[_member(member) for member in found.members],
    )


def _member(found: DescribedShareMember) -> Member:
    return Member(
        member_id=found.member_id,
        rack_id=found.rack_id,
        member_epoch=found.epoch,
        client_id=found.client_id,
        client_host=found.client_host,
        subscribed_topic_names=list(found.topics),
        assignment=Assignment(
            [TopicPartitions(each.topic_id, each.topic, list(each.partitions)) for each in found.assignment]
        ),
    )


def _refused(group_id: str, error: BrokerError) -> DescribedGroup:
    return DescribedGroup(error_code=error_code(error), error_message=str(error), group_id=group_id)
