"""OffsetFetch: one group, several, all topics, by id."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.groups import group_door
from wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

NOT_COORDINATOR, UNKNOWN_TOPIC_ID = 16, 100


def told(topic: Any) -> list[tuple[int, int, str, int]]:
    return [(each.partition_index, each.committed_offset, each.metadata, each.error_code) for each in topic.partitions]


@pytest.mark.parametrize("version", range(1, 8))
@trio_test
async def test_offsets_of_one_group(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(7, metadata="note")
        request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", [0, 1])])
        answer = await door.client.ask(request, version)
        assert answer.error_code == 0
        assert told(answer.topics[0]) == [(0, 7, "note", 0), (1, -1, "", 0)]


@pytest.mark.parametrize("version", [8, 9, 10])
@trio_test
async def test_offsets_of_several_groups(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(7)
        await door.commit(8, "h")
        named = [OffsetFetchRequestTopics(door.topic_id, [0], "t")]
        groups = [OffsetFetchRequestGroup("g", topics=named), OffsetFetchRequestGroup("h", topics=None)]
        answer = await door.client.ask(OffsetFetchRequest(groups), version)
        assert [told(group.topics[0]) for group in answer.groups] == [[(0, 7, "", 0)], [(0, 8, "", 0)]]
        assert (answer.groups[1].topics[0].topic_id == door.topic_id) == (version >= 10)


@trio_test
async def test_a_topic_id_that_does_not_exist(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        group = OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics(b"?" * 16, [0])])
        answer = await door.client.ask(OffsetFetchRequest([group]), 10)
        assert told(answer.groups[0].topics[0]) == [(0, -1, "", UNKNOWN_TOPIC_ID)]


@pytest.mark.parametrize("version", [1, 2, 8])
@trio_test
async def test_where_the_error_of_a_group_stands(tmp_path: Path, version: int) -> None:
    async with open_door(tmp_path) as door:
        request = OffsetFetchRequest([OffsetFetchRequestGroup("g")], False, "g", [OffsetFetchRequestTopic("t", [0])])
        answer = await (await door.connect()).ask(request, version)
        if version == 1:
            assert answer.topics[0].partitions[0].error_code == NOT_COORDINATOR
        else:
            assert (answer if version == 2 else answer.groups[0]).error_code == NOT_COORDINATOR
