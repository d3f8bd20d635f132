"""OffsetDelete: offsets that nobody reads."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.groups import group_door
from wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

UNKNOWN_TOPIC_OR_PARTITION, GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC = 3, 69, 86


def request(*partitions: int) -> OffsetDeleteRequest:
    wanted = [OffsetDeleteRequestPartition(index) for index in partitions]
    return OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("t", wanted)])


@trio_test
async def test_partitions_are_answered_one_by_one(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.commit(5)
        answer = await door.client.ask(request(0, 1, 2))
        codes = [each.error_code for each in answer.topics[0].partitions]
        assert codes == [0, 0, UNKNOWN_TOPIC_OR_PARTITION]


@trio_test
async def test_a_topic_that_is_read(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await (await door.member()).settle()
        answer = await door.client.ask(request(0))
        assert answer.topics[0].partitions[0].error_code == GROUP_SUBSCRIBED_TO_TOPIC


@trio_test
async def test_a_group_that_does_not_exist(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        answer = await door.client.ask(request(0))
        assert (answer.error_code, answer.topics) == (GROUP_ID_NOT_FOUND, [])
