"""DeleteGroups (42), versions 0-2: forget groups that have no members, with their offsets."""

from collections.abc import Coroutine
from typing import Any

from coordinators.group.groups import Groups
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from wire.kafka.request import Context, Deferred
from wire.kafka.slices import for_each

KEY = 42
VERSIONS = (0, 2)


def handle(
    request: DeleteGroupsRequest, _: Context, groups: Groups
) -> Deferred | Coroutine[Any, Any, DeleteGroupsResponse]:
    """Delete each group; a group named twice is deleted once."""

    def delete(name: str) -> Deferred:
        return groups.delete(name).map(
            lambda answer: DeletableGroupResult(name, error_code(answer) if isinstance(answer, BrokerError) else 0)
        )

    answer: Deferred | Coroutine[Any, Any, DeleteGroupsResponse] = for_each(
        list(dict.fromkeys(request.groups_names)), delete, lambda results: DeleteGroupsResponse(results=results)
    )
    return answer
