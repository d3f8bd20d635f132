"""DeleteGroups (42), versions 0-2: forget groups that have no members, with their offsets."""

from typing import Any

from coordinators.deferred import all_of
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from wire.kafka.request import Context, Deferred

KEY = 42
VERSIONS = (0, 2)


def handle(request: DeleteGroupsRequest, context: Context) -> Deferred:
    """Delete each group; a group named twice is deleted once."""
    names = list(dict.fromkeys(request.groups_names))

    def response(answers: list[Any]) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(name, error_code(answer) if isinstance(answer, BrokerError) else 0)
                for name, answer in zip(names, answers, strict=True)
            ]
        )

    return all_of([context.node.groups.delete(name) for name in names]).map(response)
