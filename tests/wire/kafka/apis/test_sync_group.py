"""SyncGroup: the leader's assignments."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID = 23, 25


@pytest.mark.parametrize("version", range(6))
@trio_test
async def test_a_member_gets_what_the_leader_brought(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await door.member()
        await member.join()
        given = [SyncGroupRequestAssignment(member.member_id, b"assigned")]
        request = SyncGroupRequest("g", 1, member.member_id, None, "consumer", "range", given)
        answer = await member.client.ask(request, version)
        assert (answer.error_code, bytes(answer.assignment)) == (0, b"assigned")
        if version >= 5:
            assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


@trio_test
async def test_a_protocol_has_to_be_named_from_version_5(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        member = await door.member()
        await member.join()
        request = SyncGroupRequest("g", 1, member.member_id)
        assert (await member.client.ask(request, 5)).error_code == INCONSISTENT_GROUP_PROTOCOL


@trio_test
async def test_a_stranger_gets_nothing(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        answer = await door.client.ask(SyncGroupRequest("g", 1, "stranger"), 4)
        assert (answer.error_code, bytes(answer.assignment)) == (UNKNOWN_MEMBER_ID, b"")
