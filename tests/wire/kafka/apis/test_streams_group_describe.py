"""StreamsGroupDescribe: groups of Streams applications."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.apis.test_streams_group_heartbeat import AT_ONCE, counting
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.list_groups import ListGroupsRequest
from wire.kafka.messages.streams_group_describe import StreamsGroupDescribeRequest
from wire.kafka.messages.streams_group_heartbeat import RequestEndpoint

GROUP_ID_NOT_FOUND, INVALID_GROUP_ID = 69, 24


@trio_test
async def test_a_group_with_its_topology_members_and_tasks(tmp_path: Path) -> None:
    async with group_door(tmp_path, **AT_ONCE) as door:
        answer = await counting(door, rack_id="r", user_endpoint=RequestEndpoint("here", 80))
        described = await door.client.ask(StreamsGroupDescribeRequest(["g"], True), 0)
        (group,) = described.groups
        assert (group.error_code, group.group_state, group.authorized_operations > 0) == (0, "Stable", True)
        assert group.group_epoch == group.assignment_epoch == answer.member_epoch
        first, second = group.topology.subtopologies
        assert (first.subtopology_id, first.source_topics, first.repartition_sink_topics) == ("0", ["t"], ["words"])
        (words,) = second.repartition_source_topics
        (counts,) = second.state_changelog_topics
        assert (words.name, words.partitions, counts.name, counts.partitions) == ("words", 2, "counts", 2)
        assert [(each.key, each.value) for each in counts.topic_configs] == [("cleanup.policy", "compact")]
        (member,) = group.members
        assert (member.member_id, member.rack_id, member.process_id, member.topology_epoch) == ("a", "r", "p", 0)
        assert (member.user_endpoint.host, member.is_classic, member.instance_id) == ("here", False, None)
        for assignment in (member.assignment, member.target_assignment):
            assert [(each.subtopology_id, each.partitions) for each in assignment.active_tasks] == [
                ("0", [0, 1]),
                ("1", [0, 1]),
            ]
        listed = await door.client.ask(ListGroupsRequest(types_filter=["Streams"]), 5)
        assert [(each.group_id, each.group_type, each.protocol_type) for each in listed.groups] == [
            ("g", "streams", "streams")
        ]


@trio_test
async def test_groups_that_are_none_or_of_another_kind(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(5, group="classic")
        answer = await door.client.ask(StreamsGroupDescribeRequest(["none", "classic", ""]), 0)
        assert [group.error_code for group in answer.groups] == [GROUP_ID_NOT_FOUND] * 2 + [INVALID_GROUP_ID]
        assert [group.error_message for group in answer.groups[:2]] == [
            "Group none not found.",
            "Group classic is not a streams group.",
        ]
