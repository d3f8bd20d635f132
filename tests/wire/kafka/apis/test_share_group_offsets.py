"""DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets over the door."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import Client
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from wire.kafka.messages.delete_groups import DeleteGroupsRequest
from wire.kafka.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from wire.kafka.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

UNKNOWN_TOPIC_OR_PARTITION, INVALID_GROUP_ID, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND = 3, 24, 68, 69


async def positions(client: Client, *topics: tuple[str, list[int]], version: int = 1) -> list[Any]:
    """Of all topics, if none is named."""
    named = [DescribeShareGroupOffsetsRequestTopic(*topic) for topic in topics] or None
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("g", named)])
    (group,) = (await client.ask(request, version)).groups
    assert group.error_code == 0
    return [
        (topic.topic_name, each.partition_index, each.start_offset, each.lag, each.error_code)
        for topic in group.topics
        for each in topic.partitions
    ]


async def alter(client: Client, *offsets: tuple[int, int], topic: str = "t", group: str = "g") -> Any:
    partitions = [AlterShareGroupOffsetsRequestPartition(*each) for each in offsets]
    request = AlterShareGroupOffsetsRequest(group, [AlterShareGroupOffsetsRequestTopic(topic, partitions)])
    return await client.ask(request)


async def delete(client: Client, *topics: str, group: str = "g") -> Any:
    named = [DeleteShareGroupOffsetsRequestTopic(topic) for topic in topics]
    return await client.ask(DeleteShareGroupOffsetsRequest(group, named))


@trio_test
@pytest.mark.parametrize("version", [0, 1])
async def test_a_group_is_let_begin_and_told_where_it_is(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        answer = await alter(door.client, (0, 0), (9, 0))
        (topic,) = answer.responses
        assert (answer.error_code, topic.topic_name, topic.topic_id) == (0, "t", door.topic_id)
        codes = [(each.partition_index, each.error_code) for each in topic.partitions]
        assert codes == [(0, 0), (9, UNKNOWN_TOPIC_OR_PARTITION)]
        lag = 0 if version else -1
        assert await positions(door.client, version=version) == [("t", 0, 0, lag, 0)]
        expected = [("t", 1, -1, -1, 0), ("nothing", 0, -1, -1, UNKNOWN_TOPIC_OR_PARTITION)]
        assert await positions(door.client, ("t", [1]), ("nothing", [0]), version=version) == expected


@trio_test
async def test_what_is_forgotten_is_gone_and_so_is_a_deleted_group(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await alter(door.client, (0, 5))
        answer = await delete(door.client, "t", "nothing")
        codes = [(each.topic_name, each.error_code) for each in answer.responses]
        assert (answer.error_code, codes) == (0, [("t", 0), ("nothing", UNKNOWN_TOPIC_OR_PARTITION)])
        assert await positions(door.client) == []
        await alter(door.client, (0, 5))
        (result,) = (await door.client.ask(DeleteGroupsRequest(["g"]))).results
        assert result.error_code == 0
        assert await positions(door.client, ("t", [0])) == [("t", 0, -1, -1, 0)]
        assert (await delete(door.client, "t")).error_code == GROUP_ID_NOT_FOUND


@trio_test
async def test_only_a_group_without_members_is_altered(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(ShareGroupHeartbeatRequest("g", "a", 0, subscribed_topic_names=["t"]))
        assert (await alter(door.client, (0, 5))).error_code == NON_EMPTY_GROUP
        assert (await delete(door.client, "t")).error_code == NON_EMPTY_GROUP
        (result,) = (await door.client.ask(DeleteGroupsRequest(["g"]))).results
        assert result.error_code == NON_EMPTY_GROUP
        assert (await alter(door.client, (0, 5), group="")).error_code == INVALID_GROUP_ID
        assert (await delete(door.client, "t", group="")).error_code == INVALID_GROUP_ID
