"""LeaveGroup: one member, or several."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.leave_group import LeaveGroupRequest, MemberIdentity

UNKNOWN_MEMBER_ID = 25


@pytest.mark.parametrize("version", range(3))
@trio_test
async def test_one_member_leaves(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await (await door.member()).settle()
        request = LeaveGroupRequest("g", member_id=member.member_id)
        assert (await member.client.ask(request, version)).error_code == 0
        assert (await member.client.ask(request, version)).error_code == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3, 6))
@trio_test
async def test_several_leave(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await (await door.member()).settle(group_instance_id="static")
        leaving = [MemberIdentity("", "static"), MemberIdentity("stranger")]
        answer = await member.client.ask(LeaveGroupRequest("g", leaving), version)
        assert answer.error_code == 0
        assert [each.error_code for each in answer.members] == [0, UNKNOWN_MEMBER_ID]
        assert [each.group_instance_id for each in answer.members] == ["static", None]
