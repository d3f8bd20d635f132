"""ConsumerGroupDescribe: groups of the new consumer protocol."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.apis.test_consumer_group_heartbeat import join_request
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.consumer_group_describe import ConsumerGroupDescribeRequest

GROUP_ID_NOT_FOUND = 69
CONSUMER_MEMBER = 1


@trio_test
@pytest.mark.parametrize("version", [0, 1])
async def test_a_group_with_its_members_and_assignments(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(join_request(rack_id="r"), 1)
        answer = await door.client.ask(ConsumerGroupDescribeRequest(["g"], True), version)
        (group,) = answer.groups
        assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "uniform")
        assert (group.group_epoch, group.assignment_epoch, group.authorized_operations > 0) == (1, 1, True)
        (member,) = group.members
        assert (member.member_id, member.rack_id, member.subscribed_topic_names) == ("a", "r", ["t"])
        for assignment in (member.assignment, member.target_assignment):
            (place,) = assignment.topic_partitions
            assert (place.topic_id, place.topic_name, place.partitions) == (door.topic_id, "t", [0, 1])
        assert member.member_type == (CONSUMER_MEMBER if version >= 1 else -1)


@trio_test
async def test_groups_that_are_none_or_of_the_classic_protocol(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(5, group="classic")
        answer = await door.client.ask(ConsumerGroupDescribeRequest(["none", "classic"]), 1)
        assert [group.error_code for group in answer.groups] == [GROUP_ID_NOT_FOUND] * 2
        assert [group.error_message for group in answer.groups] == [
            "Group none not found.",
            "Group classic is not a consumer group.",
        ]
