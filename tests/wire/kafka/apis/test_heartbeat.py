"""Heartbeat: signs of life."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.heartbeat import HeartbeatRequest

NOT_COORDINATOR, ILLEGAL_GENERATION, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID = 16, 22, 24, 25


@pytest.mark.parametrize("version", range(5))
@trio_test
async def test_a_member_lives(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await (await door.member()).settle()
        assert (await member.client.ask(HeartbeatRequest("g", 1, member.member_id), version)).error_code == 0


@pytest.mark.parametrize(
    ("group", "generation", "error"),
    [("g", 2, ILLEGAL_GENERATION), ("other", 1, UNKNOWN_MEMBER_ID), ("", 1, INVALID_GROUP_ID)],
)
@trio_test
async def test_what_a_member_has_to_do(tmp_path: Path, group: str, generation: int, error: int) -> None:
    async with group_door(tmp_path) as door:
        member = await (await door.member()).settle()
        answer = await member.client.ask(HeartbeatRequest(group, generation, member.member_id))
        assert answer.error_code == error


@trio_test
async def test_a_broker_without_groups_is_no_coordinator(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(HeartbeatRequest("g", 1, "m"))
        assert answer.error_code == NOT_COORDINATOR
