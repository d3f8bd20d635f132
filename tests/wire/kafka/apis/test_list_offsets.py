"""ListOffsets: the ends of a log and offsets by time."""

from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

from tests.wire.kafka.door import Client
from tests.wire.kafka.requests import batch, client_of_topic, produced
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION, UNKNOWN_LEADER_EPOCH = 3, 35, 75
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
FIRST_MAX_TIMESTAMP_VERSION = 7


async def listed(
    client: Client, timestamp: int, *, partition: int = 0, epoch: int = -1, version: int | None = None
) -> Any:
    wanted = ListOffsetsTopic("t", [ListOffsetsPartition(partition, epoch, timestamp)])
    return (await client.ask(ListOffsetsRequest(-1, 0, [wanted], 5000), version)).topics[0].partitions[0]


@pytest.mark.parametrize(
    ("timestamp", "offset", "found_ms"),
    [
        (EARLIEST, 0, -1),
        (EARLIEST_LOCAL, 0, -1),
        (LATEST, 6, -1),
        (MAX_TIMESTAMP, 2, 3000),
        (0, 0, 1000),
        (1000, 0, 1000),
        (1001, 2, 3000),
        (3000, 2, 3000),
        (3001, -1, -1),
    ],
)
@trio_test
async def test_offsets_are_found_by_time_and_by_end(tmp_path: Path, timestamp: int, offset: int, found_ms: int) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        for time_ms in (1000, 3000, 2000):
            await produced(client, "t", batch(2, timestamp_ms=time_ms))
        answer = await listed(client, timestamp)
        assert (answer.error_code, answer.offset, answer.timestamp) == (0, offset, found_ms)


@trio_test
async def test_an_empty_log_has_ends_and_no_times(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        found = [(await listed(client, timestamp)).offset for timestamp in (EARLIEST, LATEST, MAX_TIMESTAMP, 0)]
        assert found == [0, 0, -1, -1]


@trio_test
async def test_refusals(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, _):
        assert (await listed(client, LATEST, partition=1)).error_code == UNKNOWN_TOPIC_OR_PARTITION
        assert (await listed(client, LATEST, epoch=5)).error_code == UNKNOWN_LEADER_EPOCH
        assert (await listed(client, -99)).error_code == UNSUPPORTED_VERSION
        early = await listed(client, MAX_TIMESTAMP, version=FIRST_MAX_TIMESTAMP_VERSION - 1)
        assert early.error_code == UNSUPPORTED_VERSION
