"""How far share groups are behind, as monitors see it."""

from pathlib import Path

from attrs import define
from trio.testing import trio_test

from coordinators.metrics.share_lag import ShareLagMetrics
from coordinators.records.directory import PartitionDirectory
from coordinators.share.ports import SharePlace, ShareRecords
from coordinators.share.states import LocalShareStates
from coordinators.topic_view import Topic
from engine.deferred import Deferred
from engine.errors import NotLeader
from engine.partition.partition import Partition
from tests.wire.http.scraping import Scrape, collected
from tests.wire.kafka.apis.test_share_group_offsets import alter
from tests.wire.kafka.groups import GroupDoor, group_door
from tests.wire.kafka.requests import batch, produced


def scraped(door: GroupDoor, groups: int = 10, partitions: int = 10) -> Scrape:
    services = door.door.broker.node.services
    records = services[ShareRecords]  # type: ignore[type-abstract]
    return collected(
        ShareLagMetrics(services[LocalShareStates], services[PartitionDirectory], groups, partitions, records).collect()
    )


@trio_test
async def test_lag_is_told_of_groups_that_nobody_reads_for(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await produced(door.client, "t", batch(5))
        assert not scraped(door).has("tidegate_share_lag_sum", sharegroup="g")
        await alter(door.client, (0, 2), (1, -1))
        found = scraped(door)
        assert found("tidegate_share_lag", sharegroup="g", topic="t", partition="0") == 3
        assert not found.has("tidegate_share_lag", sharegroup="g", topic="t", partition="1"), "it has not begun there"
        assert found("tidegate_share_lag_sum", sharegroup="g") == 3


@trio_test
async def test_what_is_beyond_the_limits_has_no_figures(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await alter(door.client, (0, 0), (1, 0))
        assert len(scraped(door, partitions=1).labels("tidegate_share_lag", "partition")) == 1
        assert not scraped(door, groups=0).has("tidegate_share_lag_sum", sharegroup="g")


@define(eq=False)
class Leaders:
    """Who knows the ends of partitions that lie elsewhere."""

    end: int

    def end_offset(self, _place: SharePlace) -> Deferred[int]:
        answer = Deferred[int]()
        answer.resolve(self.end)
        return answer


class Elsewhere(PartitionDirectory):
    """No partition lies here."""

    def readable(self, topic: Topic, index: int) -> Partition:
        raise NotLeader(f"{topic.name}-{index} lies elsewhere")


@trio_test
async def test_of_a_partition_that_lies_elsewhere_the_leader_is_asked(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await alter(door.client, (0, 2))
        services, leaders = door.door.broker.node.services, Leaders(10)
        here = services[PartitionDirectory]
        metrics = ShareLagMetrics(services[LocalShareStates], Elsewhere(here.topics, here.partitions), 10, 10, leaders)
        assert not collected(metrics.collect()).has("tidegate_share_lag_sum", sharegroup="g"), "it is not known yet"
        assert collected(metrics.collect())("tidegate_share_lag_sum", sharegroup="g") == 8
        leaders.end = -1
        assert collected(metrics.collect())("tidegate_share_lag_sum", sharegroup="g") == 8
        assert not collected(metrics.collect()).has("tidegate_share_lag_sum", sharegroup="g"), "nobody leads it"
