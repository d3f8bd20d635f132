"""DeleteRecords: the log begins later, also after a restart."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from engine.partition.lane_readers import LaneReaders
from tests.wire.kafka.door import Client, open_door
from tests.wire.kafka.requests import (
    BY_NAME,
    batch,
    client_of_topic,
    create_topic,
    fetch,
    fetched,
    produce,
    produced,
)
from wire.kafka.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, REQUEST_TIMED_OUT, POLICY_VIOLATION = 1, 3, 7, 44
PRIORITISED = {"priority.enable": "true"}
HIGH_WATERMARK = -1


async def deleted(
    client: Client, offset: int, topic: str = "t", partition: int = 0, timeout_ms: int = 5000
) -> tuple[int, int]:
    """Low watermark and error code."""
    wanted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])
    answer = await client.ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=timeout_ms))
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


@pytest.mark.parametrize("offset", [1, 299, 1200, HIGH_WATERMARK])
@trio_test
async def test_records_that_nobody_has_read_are_deleted_from_a_prioritised_partition(
    tmp_path: Path, offset: int
) -> None:
    async with client_of_topic(tmp_path, configs=PRIORITISED) as (client, _):
        for _ in range(4):
            await produced(client, "t", batch(300))
        start = 1200 if offset == HIGH_WATERMARK else offset
        assert await deleted(client, offset) == (start, 0)
        assert await deleted(client, 1201) == (-1, OFFSET_OUT_OF_RANGE)
        answer = await fetched(client, "t", start)
        assert (answer.error_code, answer.log_start_offset, answer.high_watermark) == (0, start, 1200)
        await produced(client, "t", batch(7))
        assert await deleted(client, HIGH_WATERMARK) == (1207, 0)


@trio_test
async def test_unread_records_are_deleted_while_others_come_and_are_read(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        await create_topic(client, "t", configs=PRIORITISED)
        for _ in range(20):
            await produced(client, "t", batch(30))
            await client.send(produce("t", batch(30)), BY_NAME)
            await other.send(fetch("t", 0), BY_NAME)
            start, error = await deleted_while_sent(client)
            assert error == 0
            assert start >= 0
            await other.receive()


async def deleted_while_sent(client: Client) -> tuple[int, int]:
    """Asks in the same breath as what was sent before; both are answered."""
    wanted = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, HIGH_WATERMARK)])
    await client.send(DeleteRecordsRequest(topics=[wanted], timeout_ms=5000))
    await client.receive()
    entry = (await client.receive()).topics[0].partitions[0]
    return entry.low_watermark, entry.error_code


@trio_test
async def test_what_cannot_be_put_in_order_in_time_is_told_and_keeps_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_of_topic(tmp_path, configs=PRIORITISED) as (client, _):
        await produced(client, "t", batch(3))
        with monkeypatch.context() as patched:
            patched.setattr(LaneReaders, "linearise", lambda *_: True)
            assert await deleted(client, HIGH_WATERMARK, timeout_ms=50) == (-1, REQUEST_TIMED_OUT)
        assert (await fetched(client, "t", 0)).log_start_offset == 0
        assert await deleted(client, HIGH_WATERMARK) == (3, 0)
