"""ShareGroupHeartbeat: members of share groups."""

from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.share_group_describe import ShareGroupDescribeRequest
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

INVALID_REQUEST, GROUP_ID_NOT_FOUND, FENCED_MEMBER_EPOCH = 42, 69, 110


def join_request(member_id: str = "a", **changes: Any) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest("g", member_id, 0, **{"subscribed_topic_names": ["t"], **changes})


@trio_test
async def test_a_member_joins_lives_and_leaves(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        answer = await door.client.ask(join_request())
        assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", 1)
        assert answer.heartbeat_interval_ms == 5_000
        (given,) = answer.assignment.topic_partitions
        assert (given.topic_id, given.partitions) == (door.topic_id, [0, 1])
        answer = await door.client.ask(ShareGroupHeartbeatRequest("g", "a", 1))
        assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 1, None)
        answer = await door.client.ask(ShareGroupHeartbeatRequest("g", "a", -1))
        assert (answer.error_code, answer.member_epoch) == (0, -1)


@trio_test
async def test_a_refusal_says_why(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        refused = await door.client.ask(join_request(""))
        assert (refused.error_code, refused.error_message) == (INVALID_REQUEST, "MemberId can't be empty.")
        assert (await door.client.ask(ShareGroupHeartbeatRequest("g", "a", 1))).error_code == GROUP_ID_NOT_FOUND
        await door.client.ask(join_request())
        refused = await door.client.ask(ShareGroupHeartbeatRequest("g", "a", 9))
        assert refused.error_code == FENCED_MEMBER_EPOCH
        assert "greater member epoch (9)" in refused.error_message


@trio_test
async def test_share_groups_are_listed_by_their_type(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(join_request())
        (listed,) = (await door.client.ask(ListGroupsRequest(types_filter=["SHARE"]))).groups
        assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
            "g",
            "share",
            "Stable",
            "share",
        )
        assert (await door.client.ask(ListGroupsRequest(types_filter=["consumer"]))).groups == []
        assert (await door.client.ask(ListGroupsRequest(states_filter=["empty"]))).groups == []


@trio_test
async def test_a_group_is_described(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(join_request(rack_id="r"))
        request = ShareGroupDescribeRequest(["g", "missing", "g"], include_authorized_operations=True)
        found, missing = (await door.client.ask(request)).groups
        assert (found.group_state, found.group_epoch, found.assignment_epoch, found.assignor_name) == (
            "Stable",
            1,
            1,
            "simple",
        )
        (member,) = found.members
        assert (member.member_id, member.rack_id, member.member_epoch) == ("a", "r", 1)
        assert member.subscribed_topic_names == ["t"]
        (places,) = member.assignment.topic_partitions
        assert (places.topic_id, places.topic_name, places.partitions) == (door.topic_id, "t", [0, 1])
        assert found.authorized_operations > 0
        assert (missing.error_code, missing.error_message) == (GROUP_ID_NOT_FOUND, "Group missing not found.")
