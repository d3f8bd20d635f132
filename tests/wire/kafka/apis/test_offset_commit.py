"""OffsetCommit: by name, by id, and per partition."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

UNKNOWN_TOPIC_OR_PARTITION, OFFSET_METADATA_TOO_LARGE, ILLEGAL_GENERATION = 3, 12, 22
GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_ID = 69, 100


@pytest.mark.parametrize("version", range(2, 11))
@trio_test
async def test_partitions_are_answered_one_by_one(tmp_path: Path, version: int) -> None:
    async with group_door(tmp_path) as door:
        partitions = [
            OffsetCommitRequestPartition(0, 5, committed_metadata="x"),
            OffsetCommitRequestPartition(1, 5, committed_metadata="x" * 5000),
            OffsetCommitRequestPartition(2, 5, committed_metadata="x"),
        ]
        topic = OffsetCommitRequestTopic(door.topic_id, partitions, "t")
        answer = await door.client.ask(OffsetCommitRequest("g", topics=[topic]), version)
        (answered,) = answer.topics
        assert (answered.topic_id == door.topic_id, answered.name == "t") == (version >= 10, version < 10)
        codes = [(each.partition_index, each.error_code) for each in answered.partitions]
        assert codes == [(0, 0), (1, OFFSET_METADATA_TOO_LARGE), (2, UNKNOWN_TOPIC_OR_PARTITION)]


@trio_test
async def test_a_topic_id_that_does_not_exist(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        topic = OffsetCommitRequestTopic(b"?" * 16, [OffsetCommitRequestPartition(0, 5)])
        answer = await door.client.ask(OffsetCommitRequest("g", topics=[topic]), 10)
        assert answer.topics[0].partitions[0].error_code == UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(("version", "error"), [(8, ILLEGAL_GENERATION), (9, GROUP_ID_NOT_FOUND)])
@trio_test
async def test_a_generation_of_no_group(tmp_path: Path, version: int, error: int) -> None:
    async with group_door(tmp_path) as door:
        topic = OffsetCommitRequestTopic(partitions=[OffsetCommitRequestPartition(0, 5)], name="t")
        answer = await door.client.ask(OffsetCommitRequest("g", 1, "m", topics=[topic]), version)
        assert answer.topics[0].partitions[0].error_code == error
