"""How far a group is behind."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.group.lag import PartitionLag
from tests.wire.kafka.groups import group_door
from tests.wire.kafka.requests import batch, produce


@trio_test
async def test_lag_is_the_end_less_the_committed_offset(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await door.client.ask(produce("t", batch(5)), 9)
        await door.commit(2)
        assert door.door.broker.node.groups.lag("g") == [PartitionLag("t", 0, 2, 5)]
        assert [each.lag for each in door.door.broker.node.groups.lag("g")] == [3]


def test_who_committed_beyond_the_end_is_not_behind() -> None:
    assert PartitionLag("t", 0, 9, 5).lag == 0
