"""Reading, in the broker's own words; what the Kafka door shows of it is tested at that door."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from trio.testing import trio_test

from coordinators.records.directory import PartitionDirectory
from coordinators.records.portions import Wanted
from coordinators.records.reading import Read, Reading
from coordinators.waiting import result_of
from engine.log.types import LogPosition
from engine.partition.partition import Partition
from tests.wire.kafka.door import open_door
from tests.wire.kafka.requests import batch, create_topic


def at_the_end(**changes: object) -> bool:
    """Whether a partition of 5 records is quiet for a reader that has read them all, but for some changes."""
    facts: dict[str, Any] = {
        "end": 5,
        "start": 0,
        "has_stage": False,
        "offset": 5,
        "epoch": -1,
        "last_epoch": -1,
        "told": 5,
    } | changes
    wanted = Wanted("t", 0, facts["offset"], 1, facts["epoch"], facts["last_epoch"], facts["told"], 0)
    partition = SimpleNamespace(
        high_watermark=LogPosition(facts["end"], 0, 0),
        log=SimpleNamespace(start_offset=facts["start"]),
        has_stage=facts["has_stage"],
        leader_epoch=3,
    )
    return wanted.is_quiet(cast("Partition", partition))


def test_a_partition_is_quiet_for_who_has_read_all_of_it_and_knows_that() -> None:
    assert at_the_end()
    assert at_the_end(epoch=3)


@pytest.mark.parametrize(
    "change",
    [
        {"end": 6},
        {"start": 1},
        {"has_stage": True},
        {"offset": 4},
        {"offset": 6},
        {"epoch": 2},
        {"last_epoch": 3},
        {"told": -1},
    ],
)
def test_whatever_else_there_is_to_say_takes_a_closer_look(change: dict[str, object]) -> None:
    assert not at_the_end(**change)


@trio_test
async def test_what_is_written_and_not_yet_synced_is_waited_for_by_who_cannot_wait(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        services = door.broker.node.services
        partition = services[PartitionDirectory].find("t", 0)
        partition.write(batch())
        assert partition.high_watermark.offset == 0
        reading = Read(services[Reading], [Wanted("t", 0, 0, 1000)], max_bytes=1000, min_bytes=0, wait_s=0.0).begin()
        assert not isinstance(reading, list)
        (portion,) = await result_of(reading)
        assert (portion.topic, portion.end_offset, portion.error) == ("t", 1, None)
        assert portion.records is not None
        assert portion.records.size == len(batch())
