"""DeleteGroups (42), versions 0-2: forget groups that have no members, with their offsets, or share groups' states."""

from coordinators.group.share.administration import ShareGroupAdministration
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from wire.kafka.request import Context
from wire.kafka.rights import DELETE_GROUP, Each, Rights, by_text

KEY = 42
VERSIONS = (0, 2)
RIGHTS = Rights(
    Each(
        DELETE_GROUP,
        "groups_names",
        by_text,
        "results",
        lambda name, error: DeletableGroupResult(name, error_code(error)),
        DeleteGroupsResponse,
    )
)


async def handle(request: DeleteGroupsRequest, _: Context, shares: ShareGroupAdministration) -> DeleteGroupsResponse:
    """Delete each group; a group named twice is deleted once."""
    names = list(dict.fromkeys(request.groups_names))
    refusals = await shares.delete_groups(names)
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(name, 0 if refusal is None else error_code(refusal))
            for name, refusal in zip(names, refusals, strict=True)
        ]
    )
