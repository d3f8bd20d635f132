"""Looking offsets up, in the broker's own words; what the Kafka door shows of it is tested at that door."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.records.directory import PartitionDirectory
from coordinators.records.offset_lookup import FoundOffset, OffsetLookup, Sought, Spot
from engine.errors import FencedLeaderEpoch, UnknownTopicOrPartition
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, create_topic, produced

TIME_MS = 1_700_000_000_000


@trio_test
async def test_the_end_counts_what_is_written_and_not_yet_synced(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        services = door.broker.node.services
        partition = services[PartitionDirectory].find("t", 0)
        partition.write(batch())
        assert partition.high_watermark.offset == 0
        lookup = services[OffsetLookup]
        assert lookup.find([Sought("t", 0, Spot.EARLIEST)], committed=False) == [FoundOffset(0, -1, 0)]
        waiting = lookup.find([Sought("t", 0, Spot.LATEST)], committed=False)
        assert not isinstance(waiting, list)
        assert await waiting == [FoundOffset(1, -1, 0)]
        assert lookup.find([Sought("t", 0, Spot.LATEST)], committed=False) == [FoundOffset(1, -1, 0)]


@trio_test
async def test_each_question_has_its_own_answer_or_refusal(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        for later_ms in (0, 10):
            await produced(client, "t", batch(timestamp_ms=TIME_MS + later_ms))
        sought = [
            Sought("t", 0, TIME_MS + 1),
            Sought("t", 0, TIME_MS + 11),
            Sought("t", 0, Spot.GREATEST_TIME),
            Sought("t", 0, Spot.TIERED_END),
            Sought("t", 1, Spot.LATEST),
            Sought("t", 0, Spot.LATEST, leader_epoch=-2),
        ]
        searching = door.broker.node.services[OffsetLookup].find(sought, committed=True)
        assert not isinstance(searching, list)
        *found, missing, fenced = await searching
        later = FoundOffset(1, TIME_MS + 10, 0)
        assert found == [later, FoundOffset(), later, FoundOffset()]
        assert isinstance(missing.error, UnknownTopicOrPartition)
        assert isinstance(fenced.error, FencedLeaderEpoch)
