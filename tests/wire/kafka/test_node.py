"""The node as the door sees it: topics by name or id, partitions, and waiting for what is written."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from engine.errors import UnknownTopicId, UnknownTopicOrPartition
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, create_topic


@trio_test
async def test_topics_are_found_by_name_or_by_id_and_not_by_the_other(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        made = await create_topic(await door.connect(), "t")
        node = door.broker.node
        assert node.topic("t", b"", by_id=False) is node.topic("", made.topic_id, by_id=True)
        with pytest.raises(UnknownTopicOrPartition):
            node.topic("missing", made.topic_id, by_id=False)
        with pytest.raises(UnknownTopicId):
            node.topic("t", b"\1" * 16, by_id=True)


@pytest.mark.parametrize("index", [-1, 2])
@trio_test
async def test_a_partition_outside_the_topic_is_refused(tmp_path: Path, index: int) -> None:
    async with open_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", partitions=2)
        node = door.broker.node
        topic = node.topic("t", b"", by_id=False)
        assert node.partition(topic, 1).index == 1
        with pytest.raises(UnknownTopicOrPartition):
            node.partition(topic, index)


@trio_test
async def test_waiting_until_durable_ends_with_the_sync(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        node = door.broker.node
        partition = node.partition(node.topic("t", b"", by_id=False), 0)
        partition.append(batch())
        assert partition.high_watermark.offset == 0
        await node.until_durable(partition)
        assert partition.high_watermark.offset == 1


@trio_test
async def test_what_blocks_runs_in_a_thread(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        assert await door.broker.node.in_thread(lambda number: number + 1, 1) == 2
