"""ListGroups: by state and by type."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.list_groups import ListGroupsRequest


@pytest.mark.parametrize("version", range(6))
@trio_test
async def test_every_group_is_listed(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        await (await door.member()).settle()
        await door.commit(1, "h")
        answer = await door.client.ask(ListGroupsRequest(), version)
        found = {group.group_id: group for group in answer.groups}
        assert {name: group.protocol_type for name, group in found.items()} == {"g": "consumer", "h": ""}
        assert found["g"].group_state == ("Stable" if version >= 4 else "")
        assert found["g"].group_type == ("classic" if version >= 5 else "")


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [(["stable"], [], {"g"}), (["Empty"], ["CLASSIC"], {"h"}), ([], ["consumer"], set()), (["Dead"], [], set())],
)
@trio_test
async def test_groups_are_filtered(tmp_path: Path, states: list[str], types: list[str], names: set[str]) -> None:
    async with group_door(tmp_path) as door:
        await (await door.member()).settle()
        await door.commit(1, "h")
        answer = await door.client.ask(ListGroupsRequest(states, types))
        assert {group.group_id for group in answer.groups} == names


@trio_test
async def test_a_broker_without_groups(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(ListGroupsRequest())
        assert (answer.error_code, answer.groups) == (0, [])
