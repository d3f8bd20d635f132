"""The node as the door sees it: waiting for what is written."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, create_topic


@trio_test
async def test_waiting_until_durable_ends_with_the_sync(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        node = door.broker.node
        partition = node.directory.find("t", 0)
        partition.append(batch())
        assert partition.high_watermark.offset == 0
        await node.until_durable(partition)
        assert partition.high_watermark.offset == 1


@trio_test
async def test_what_blocks_runs_in_a_thread(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        assert await door.broker.node.in_thread(lambda number: number + 1, 1) == 2
