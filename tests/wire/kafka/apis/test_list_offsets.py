"""ListOffsets: the ends of a log and offsets by time."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trio.testing import trio_test

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
from wire.kafka.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION, UNKNOWN_LEADER_EPOCH = 3, 35, 75
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
FIRST_MAX_TIMESTAMP_VERSION = 7


def question(timestamp: int, *, partition: int = 0, epoch: int = -1, isolation: int = 0) -> ListOffsetsRequest:
    wanted = ListOffsetsTopic("t", [ListOffsetsPartition(partition, epoch, timestamp)])
    return ListOffsetsRequest(-1, isolation, [wanted], 5000)


async def listed(
    client: Client, timestamp: int, *, partition: int = 0, epoch: int = -1, version: int | None = None
) -> Any:
    asked = question(timestamp, partition=partition, epoch=epoch)
    return (await client.ask(asked, version)).topics[0].partitions[0]


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


PRIORITISED = {"priority.enable": "true"}
NOW_MS = int(time.time() * 1000)
HALF_AN_HOUR_MS, YEAR_MS = 1_800_000, 365 * 86_400_000
SHIFTS_MS = (-YEAR_MS - 1, -YEAR_MS, -1000, 0, HALF_AN_HOUR_MS, HALF_AN_HOUR_MS + 1)


async def answers(client: Client) -> list[tuple[int, int]]:
    """To look-ups around the times that records may have."""
    found = [await listed(client, NOW_MS + shift) for shift in SHIFTS_MS] + [await listed(client, MAX_TIMESTAMP)]
    return [(answer.offset, answer.timestamp) for answer in found]


@pytest.mark.parametrize("shifts", [(HALF_AN_HOUR_MS,), (-YEAR_MS,), (-YEAR_MS, HALF_AN_HOUR_MS), (-5000, 0, -YEAR_MS)])
@pytest.mark.parametrize("count", [1, 3])
@trio_test
async def test_unread_records_of_a_prioritised_partition_are_found_by_the_same_times_as_read_ones(
    tmp_path: Path, shifts: tuple[int, ...], count: int
) -> None:
    async with client_of_topic(tmp_path, configs=PRIORITISED) as (client, _):
        for shift in shifts:
            await produced(client, "t", batch(count, timestamp_ms=NOW_MS + shift))
        before = await answers(client)
        await fetched(client, "t", 0, max_wait_ms=5000)
        assert await answers(client) == before
        times = [NOW_MS + shift for shift in shifts for _ in range(count)]
        expected = [next((i for i, t in enumerate(times) if t >= NOW_MS + shift), -1) for shift in SHIFTS_MS]
        assert [offset for offset, _ in before] == [*expected, times.index(max(times))]


@trio_test
async def test_times_given_by_the_broker_are_those_of_reading_and_so_from_now_on(tmp_path: Path) -> None:
    configs = {**PRIORITISED, "message.timestamp.type": "LogAppendTime"}
    async with client_of_topic(tmp_path, configs=configs) as (client, _):
        await produced(client, "t", batch(2, timestamp_ms=NOW_MS - YEAR_MS))
        asked = (NOW_MS - 1000, NOW_MS + HALF_AN_HOUR_MS, MAX_TIMESTAMP)
        before = [(await listed(client, timestamp)).offset for timestamp in asked]
        await fetched(client, "t", 0, max_wait_ms=5000)
        assert [(await listed(client, timestamp)).offset for timestamp in asked] == before == [0, -1, 0]


@pytest.fixture
def _threads_in_quick_turns() -> Iterator[None]:
    """So that the loop and a thread meet in the middle of whatever they do."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual_s)


@pytest.mark.usefixtures("_threads_in_quick_turns")
@trio_test
async def test_times_are_looked_up_while_a_prioritised_partition_is_written_and_read(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client, other = await door.connect(), await door.connect()
        await create_topic(client, "t", configs=PRIORITISED)
        for number in range(20):
            for _ in range(5):
                await other.send(question(NOW_MS + HALF_AN_HOUR_MS))
            # Rows come one by one, and go: chunks of the table are split and merged under the look-up.
            for _ in range(100):
                await client.send(produce("t", batch(timestamp_ms=NOW_MS - number), acks=1), BY_NAME)
            await client.send(fetch("t", max(0, number * 100 - 1_000), max_bytes=2_000), BY_NAME)
            for _ in range(101):
                await client.receive()
            for _ in range(5):
                assert (await other.receive()).topics[0].partitions[0].offset == -1


@trio_test
async def test_a_repeated_partition_is_refused_among_very_many_others(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path, partitions=3) as (client, _):
        wanted = [ListOffsetsPartition(index, timestamp=-1) for index in (0, *range(1, 300), 0)]
        answer = await client.ask(ListOffsetsRequest(topics=[ListOffsetsTopic("t", wanted)]))
        (topic,) = answer.topics
        assert [each.partition_index for each in topic.partitions] == [0, *range(1, 300), 0]
        codes = [each.error_code for each in topic.partitions]
        assert (codes[0], codes[-1], codes[1:3], set(codes[3:-1])) == (42, 42, [0, 0], {3})
