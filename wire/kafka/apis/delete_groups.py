"""DeleteGroups (42), versions 0-2: forget groups that have no members, with their offsets."""

from coordinators.group.groups import Groups
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.slices import for_each

KEY = 42
VERSIONS = (0, 2)


def handle(request: DeleteGroupsRequest, _: Context, groups: Groups) -> Later[DeleteGroupsResponse]:
    """Delete each group; a group named twice is deleted once."""

    def delete(name: str) -> Deferred[DeletableGroupResult]:
        def refuse(error: BrokerError) -> DeletableGroupResult:
            return DeletableGroupResult(name, error_code(error))

        return groups.delete(name).map(lambda _: DeletableGroupResult(name), refuse)

    names = list(dict.fromkeys(request.groups_names))
    return for_each(names, delete, lambda results: DeleteGroupsResponse(results=results))
