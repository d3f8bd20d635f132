"""JoinGroup: what each version is told."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.groups import group_door

INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, MEMBER_ID_REQUIRED = 23, 24, 79


@pytest.mark.parametrize("version", range(4))
@trio_test
async def test_a_member_of_an_older_version_joins_at_once(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        answer = await (await door.member()).join(version)
        assert (answer.generation_id, answer.leader, answer.protocol_name) == (1, answer.member_id, "range")
        assert [member.member_id for member in answer.members] == [answer.member_id]


@pytest.mark.parametrize("version", range(4, 10))
@trio_test
async def test_a_new_member_takes_an_id_first(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await door.member()
        refused = await member.client.ask(member.join_request(), version)
        assert refused.error_code == MEMBER_ID_REQUIRED
        member.member_id = refused.member_id
        assert (await member.join(version)).member_id == refused.member_id


@pytest.mark.parametrize("version", [0, 6, 7, 9])
@trio_test
async def test_a_refusal_names_no_protocol(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        member = await door.member()
        answer = await member.client.ask(member.join_request(protocols=[], member_id=""), version)
        assert (answer.error_code, answer.generation_id) == (INCONSISTENT_GROUP_PROTOCOL, -1)
        assert answer.protocol_name == (None if version >= 7 else "")


@trio_test
async def test_a_group_needs_a_name(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        member = await door.member()
        assert (await member.client.ask(member.join_request(group_id=""))).error_code == INVALID_GROUP_ID


@trio_test
async def test_the_answer_waits_for_the_other_members(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        one, two = await (await door.member()).settle(), await door.member()
        # A round of joins waits for who has taken an id.
        two.member_id = (await two.client.ask(two.join_request())).member_id
        await two.client.send(two.join_request())
        assert (await one.join()).generation_id == 2
        assert (await two.client.receive()).generation_id == 2
