"""ListGroups (16), versions 0-5: the groups that this node coordinates.

Filtered by state from version 4 (KIP-518), by type from 5 (KIP-848); names of either in any case.
"""

from coordinators.access.access import AccessControl
from coordinators.group.groups import Groups
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP, Rights, Within
from wire.kafka.steps import lazily

KEY = 16
VERSIONS = (0, 5)
RIGHTS = Rights(
    Within(DESCRIBE_CLUSTER), Within(DESCRIBE_GROUP), reason="groups that may not be described are left out"
)


def handle(request: ListGroupsRequest, context: Context, groups: Groups, access: AccessControl) -> ListGroupsResponse:
    """List the groups of the wanted states and types."""
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    caller = context.caller
    try:
        listed = groups.list_groups()
    except BrokerError as error:
        return ListGroupsResponse(error_code=error_code(error))
    if not access.permits(caller, DESCRIBE_CLUSTER):
        listed = [group for group in listed if access.permits(caller, DESCRIBE_GROUP, group.group_id)]
    return ListGroupsResponse(
        groups=lazily(
            (
                group
                for group in listed
                if (not states or group.state.lower() in states) and (not types or group.type.lower() in types)
            ),
            lambda group: ListedGroup(group.group_id, group.protocol_type, group.state, group.type),
        )
    )
