"""DescribeGroups: stable groups and none."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.groups import SUBSCRIPTION, group_door
from wire.kafka.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from wire.kafka.messages.describe_groups import DescribeGroupsRequest

NOT_COORDINATOR, GROUP_ID_NOT_FOUND = 16, 69


@pytest.mark.parametrize("version", range(7))
@trio_test
async def test_a_stable_group(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await (await door.member()).settle(group_instance_id="static")
        (group,) = (await door.client.ask(DescribeGroupsRequest(["g"]), version)).groups
        assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
        (one,) = group.members
        assert (one.member_id, one.client_id, one.client_host) == (member.member_id, "test", "/127.0.0.1")
        assert (bytes(one.member_metadata), bytes(one.member_assignment)) == (SUBSCRIPTION, b"mine")
        assert one.group_instance_id == ("static" if version >= 4 else None)


@pytest.mark.parametrize("version", range(7))
@trio_test
async def test_a_group_that_does_not_exist(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        (group,) = (await door.client.ask(DescribeGroupsRequest(["none"]), version)).groups
        assert (group.group_state, group.error_code) == ("Dead", GROUP_ID_NOT_FOUND if version >= 6 else 0)


@pytest.mark.parametrize("asked", [True, False])
@trio_test
async def test_what_may_be_done_is_told_to_who_asks(tmp_path: Path, asked: bool) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(1)
        (group,) = (await door.client.ask(DescribeGroupsRequest(["g"], asked))).groups
        assert group.authorized_operations == (GROUP_OPERATIONS if asked else NOT_ASKED)


@trio_test
async def test_a_broker_without_groups(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        (group,) = (await (await door.connect()).ask(DescribeGroupsRequest(["g"]))).groups
        assert group.error_code == NOT_COORDINATOR


@trio_test
async def test_very_many_names_are_answered_in_order_and_each_once(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(1)
        names = [f"none-{number}" for number in range(250)] + ["g"]
        groups = (await door.client.ask(DescribeGroupsRequest(names * 2))).groups
        assert [group.group_id for group in groups] == names
        assert [group.group_state for group in groups[-2:]] == ["Dead", "Empty"]
