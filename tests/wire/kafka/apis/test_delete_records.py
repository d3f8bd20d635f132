"""DeleteRecords: the log begins later, also after a restart."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import batch, client_of_topic, fetched, produced
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, POLICY_VIOLATION = 1, 3, 44
HIGH_WATERMARK = -1


async def deleted(client: Client, offset: int, topic: str = "t", partition: int = 0) -> tuple[int, int]:
    """Low watermark and error code."""
    wanted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])
    answer = await client.ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=5000))
    entry = answer.topics[0].partitions[0]
    return entry.low_watermark, entry.error_code


@trio_test
async def test_records_before_the_offset_are_gone_for_good(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        for _ in range(4):
            await produced(client, "t", batch())
        assert await deleted(client, 2) == (2, 0)
        assert await deleted(client, 1) == (2, 0)
        assert (await fetched(client, "t", 1)).error_code == OFFSET_OUT_OF_RANGE
        assert (await fetched(client, "t", 2)).log_start_offset == 2
    async with open_door(tmp_path) as door:
        answer = await fetched(await door.connect(), "t", 2)
        assert (answer.log_start_offset, answer.high_watermark) == (2, 4)


@trio_test
async def test_minus_one_stands_for_the_high_watermark(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch(3))
        assert await deleted(client, HIGH_WATERMARK) == (3, 0)
        assert (await produced(client, "t", batch())).base_offset == 3


@pytest.mark.parametrize("offset", [-2, 4])
@trio_test
async def test_an_offset_outside_the_log_is_refused(tmp_path: Path, offset: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        await produced(client, "t", batch(3))
        assert await deleted(client, offset) == (-1, OFFSET_OUT_OF_RANGE)


@trio_test
async def test_an_unknown_partition_is_told(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert await deleted(client, 0, partition=1) == (-1, UNKNOWN_TOPIC_OR_PARTITION)
        assert await deleted(client, 0, topic="missing") == (-1, UNKNOWN_TOPIC_OR_PARTITION)


@trio_test
async def test_a_compacted_topic_keeps_its_records(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, configs={"cleanup.policy": "compact"}) as (client, _):
        await produced(client, "t", batch())
        assert await deleted(client, 1) == (-1, POLICY_VIOLATION)
