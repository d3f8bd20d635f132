"""DescribeGroups (15), versions 0-6: state, protocol and members of groups.

A group that does not exist is in state Dead; from version 6 with the error GROUP_ID_NOT_FOUND and a message
(KIP-1043). What members subscribed to and were assigned is shown while the group is stable.
"""

from coordinators.access.access import AccessControl
from coordinators.access.acls import ResourceKind
from coordinators.group import requests as coordinator
from coordinators.group.groups import Groups
from engine.errors import BrokerError, GroupIdNotFound
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import DESCRIBE_GROUP, Each, Rights, Within, by_text
from wire.kafka.slices import for_each

KEY = 15
VERSIONS = (0, 6)
RIGHTS = Rights(
    Each(
        DESCRIBE_GROUP,
        "groups",
        by_text,
        "groups",
        lambda name, error: DescribedGroup(error_code=error_code(error), error_message=str(error), group_id=name),
        DescribeGroupsResponse,
    ),
    Within(DESCRIBE_GROUP),
)

FIRST_VERSION_WITH_NOT_FOUND = 6
DEAD = "Dead"


def handle(
    request: DescribeGroupsRequest, context: Context, groups: Groups, access: AccessControl
) -> Later[DescribeGroupsResponse]:
    """Describe each group; one named twice is described once."""
    return for_each(
        list(dict.fromkeys(request.groups)),
        lambda group_id: _describe(group_id, request, context, groups, access),
        lambda described: DescribeGroupsResponse(groups=described),
    )


def _describe(
    group_id: str, request: DescribeGroupsRequest, context: Context, groups: Groups, access: AccessControl
) -> Deferred[DescribedGroup]:
    def with_operations(group: DescribedGroup) -> DescribedGroup:
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = access.operations(context.caller, ResourceKind.GROUP, group_id)
        return group

    described = groups.describe(group_id).map(_group, lambda error: _failed(group_id, error, context))
    return described.map(with_operations)


def _failed(group_id: str, error: BrokerError, context: Context) -> DescribedGroup:
    if not isinstance(error, GroupIdNotFound):
        return DescribedGroup(error_code=error_code(error), group_id=group_id)
    group = DescribedGroup(group_id=group_id, group_state=DEAD)
    if context.version >= FIRST_VERSION_WITH_NOT_FOUND:
        group.error_code, group.error_message = error_code(error), str(error)
    return group


def _group(found: coordinator.DescribedGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=found.group_id,
        group_state=found.state,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.subscription,
                member_assignment=member.assignment,
            )
            for member in found.members
        ],
    )
