"""Where a reader of a topic is, and what comes next."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from engine.errors import OffsetOutOfRange
from tests.wire.inner.house import House, open_house
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.http.problems import Problem
from wire.http.topic_readers import TopicReaders


def readers(house: House) -> TopicReaders:
    return TopicReaders(house.inner, house.reading)


@trio_test
async def test_a_busy_partition_keeps_no_other_back(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t", 2)
        for _ in range(4):
            await produced(client, "t", batch([b"busy"] * 10), partition=0)
        await produced(client, "t", batch([b"calm"]), partition=1)
        with house.guest() as guest:
            reader = await readers(house).begin(guest, "t", None, "earliest", None, committed=True)
            turns = [{partition for partition, _ in await reader.next(0, 10)} for _ in range(3)]
        assert 1 in turns[1]


@trio_test
async def test_a_place_is_written_and_read(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t", 2)
        await produced(client, "t", batch([b"a", b"b"]), partition=1)
        with house.guest() as guest:
            begin = readers(house).begin
            first = await begin(guest, "t", None, "latest", None, committed=True)
            assert first.place == "0:0,1:2"
            again = await begin(guest, "t", None, "1:1", None, committed=True)
            assert again.place == "0:0,1:1"
            for wrong in ("1", "1:", "x", "5:0", "0:1,"):
                with pytest.raises(Problem):
                    await begin(guest, "t", None, wrong, None, committed=True)


@trio_test
async def test_who_does_not_follow_is_told_that_its_offset_is_gone(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t")
        with house.guest() as guest:
            reader = await readers(house).begin(guest, "t", 0, "9", None, committed=True)
            with pytest.raises(OffsetOutOfRange):
                await reader.next(0)
            follows = await readers(house).begin(guest, "t", 0, "9", None, committed=True, goes_on=True)
            assert await follows.next(0) == []
            assert follows.place == "0:0"
