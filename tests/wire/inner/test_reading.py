"""Records that a door reads for its caller."""

from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from engine.errors import OffsetOutOfRange, TopicAuthorizationFailed, UnknownTopicOrPartition
from engine.records.compression import CODECS, compress
from engine.records.layout import HEADER_SIZE, parse_header, seal_batch
from tests.wire.inner.house import House, open_house, user
from tests.wire.kafka.door import until
from tests.wire.kafka.guarded import Guarded
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.transacting import Producer
from wire.inner.reading import EARLIEST, LATEST, ReadRecords


async def read(house: House, offset: int = 0, **options: object) -> ReadRecords:
    with house.guest() as guest:
        return await house.reading.read(guest, "t", 0, offset, **options)  # type: ignore[arg-type]


def compressed(plain: bytes, codec: int) -> bytes:
    header = parse_header(plain)
    return seal_batch(header._replace(attributes=codec), compress(codec, plain[HEADER_SIZE:]))


def values(found: ReadRecords) -> list[bytes | None]:
    return [record.value for record in found.records]


@trio_test
async def test_records_of_a_kafka_client_are_read_from_any_offset(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch([b"a", b"b", b"c"]))
        found = await read(house, 1)
        assert values(found) == [b"b", b"c"]
        assert [record.offset for record in found.records] == [1, 2]
        assert (found.next_offset, found.high_watermark, found.log_start_offset) == (3, 3, 0)


@pytest.mark.parametrize("codec", sorted(CODECS))
@trio_test
async def test_compressed_batches_are_opened(tmp_path: Path, codec: str) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t")
        await produced(client, "t", compressed(batch([b"v" * 1_000 for _ in range(100)]), CODECS[codec]))
        assert len((await read(house)).records) == 100


@trio_test
async def test_no_more_is_given_than_is_wanted(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch([b"v" * 100 for _ in range(50)]))
        few = await read(house, max_records=7)
        assert (len(few.records), few.next_offset) == (7, 7)
        small = await read(house, 7, max_bytes=450)
        assert len(small.records) == 5


@trio_test
async def test_what_was_aborted_is_left_out_and_what_is_open_waits(tmp_path: Path) -> None:
    async with open_house(tmp_path, {"transaction.state.log.num.partitions": 1}) as house:
        client = await house.door.connect()
        await create_topic(client, "t")
        producer = Producer(client)
        await producer.init()
        for value, committed in ((b"aborted", False), (b"kept", True), (b"aborted too", False)):
            await producer.add()
            await producer.write(value)
            await producer.end(commit=committed)
        await producer.add()
        await producer.write(b"open")
        found = await read(house)
        assert values(found) == [b"kept"]
        assert found.next_offset == 6
        uncommitted = await read(house, committed=False)
        assert values(uncommitted) == [b"aborted", b"kept", b"aborted too", b"open"]


@trio_test
async def test_a_read_waits_for_records(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, trio.open_nursery() as nursery:
        client = await house.door.connect()
        await create_topic(client, "t")
        found: list[ReadRecords] = []

        async def wait() -> None:
            found.append(await read(house, wait_s=10))

        nursery.start_soon(wait)
        await trio.sleep(0.05)
        assert not found
        await produced(client, "t", batch([b"late"]))
        await until(lambda: found)
        assert values(found[0]) == [b"late"]


@trio_test
async def test_offsets_are_found_by_time(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        client = await house.door.connect()
        await create_topic(client, "t")
        for time_ms in (1_000, 2_000, 3_000):
            await produced(client, "t", batch([b"v"], timestamp_ms=time_ms))
        with house.guest() as guest:
            offsets = house.reading.offsets
            assert await offsets(guest, "t", {0: EARLIEST}) == {0: 0}
            assert await offsets(guest, "t", {0: LATEST}) == {0: 3}
            assert await offsets(guest, "t", {0: 1_500}) == {0: 1}
            assert await offsets(guest, "t", {0: 9_000}) == {0: 3}


@trio_test
async def test_what_there_is_not_is_refused(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await create_topic(await house.door.connect(), "t")
        with pytest.raises(OffsetOutOfRange):
            await read(house, 5)
        with house.guest() as guest:
            with pytest.raises(UnknownTopicOrPartition):
                await house.reading.read(guest, "t", 3, 0)
            with pytest.raises(UnknownTopicOrPartition):
                await house.reading.read(guest, "missing", 0, 0)


@trio_test
async def test_who_may_not_read_is_refused_as_a_client_is(tmp_path: Path) -> None:
    async with open_house(tmp_path, {"authorizer.enable": "true", "super.users": "User:root"}) as house:
        await create_topic(await Guarded(house.door).client("root"), "t")
        with house.guest(user("eve")) as guest, pytest.raises(TopicAuthorizationFailed):
            await house.reading.read(guest, "t", 0, 0)
        with house.guest(user("root")) as guest:
            assert (await house.reading.read(guest, "t", 0, 0)).records == []
