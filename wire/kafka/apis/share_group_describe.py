"""ShareGroupDescribe (77), version 1: epochs, members and assignments of share groups (KIP-932).

A group that does not exist, or is of another kind, is answered with GROUP_ID_NOT_FOUND.
"""

from coordinators.group.groups import Groups
from coordinators.group.share.requests import DescribedShareGroup, DescribedShareMember
from engine.errors import BrokerError
from wire.kafka.authorized_operations import GROUP_OPERATIONS
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
from wire.kafka.slices import for_each

KEY = 77
VERSIONS = (1, 1)


def handle(request: ShareGroupDescribeRequest, _: Context, groups: Groups) -> Later[ShareGroupDescribeResponse]:
    """Describe each group; one named twice is described once."""
    return for_each(
        list(dict.fromkeys(request.group_ids)),
        lambda group_id: _describe(group_id, request, groups),
        lambda described: ShareGroupDescribeResponse(groups=described),
    )


def _describe(group_id: str, request: ShareGroupDescribeRequest, groups: Groups) -> Deferred[DescribedGroup]:
    def refuse(error: BrokerError) -> DescribedGroup:
        return DescribedGroup(error_code=error_code(error), error_message=str(error), group_id=group_id)

    def response(found: DescribedShareGroup) -> DescribedGroup:
        group = _group(found)
        if request.include_authorized_operations:
            group.authorized_operations = GROUP_OPERATIONS
        return group

    return groups.describe_shares(group_id).map(response, refuse)


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
