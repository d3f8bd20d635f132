"""DeleteGroups: only empty ones."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.delete_groups import DeleteGroupsRequest

NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND = 68, 69


@pytest.mark.parametrize("version", range(3))
@trio_test
async def test_groups_are_answered_one_by_one(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        await (await door.member()).settle()
        await door.commit(1, "h")
        answer = await door.client.ask(DeleteGroupsRequest(["g", "h", "none", "h"]), version)
        found = [(result.group_id, result.error_code) for result in answer.results]
        assert found == [("g", NON_EMPTY_GROUP), ("h", 0), ("none", GROUP_ID_NOT_FOUND)]
