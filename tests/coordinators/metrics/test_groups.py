"""Figures of groups of both protocols: state, members, rebalances, places, lag."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.metrics.groups import GroupMetrics
from tests.wire.http.scraping import Scrape, collected
from tests.wire.kafka.groups import GroupDoor, group_door
from tests.wire.kafka.requests import batch, produced
from wire.kafka.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from wire.kafka.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


def scraped(door: GroupDoor, groups: int = 10, partitions: int = 10) -> Scrape:
    return collected(GroupMetrics(door.door.broker.node.groups, groups, partitions).collect())


@trio_test
async def test_a_group_is_told_with_its_state_members_and_rebalances(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await (await door.member()).settle()
        found = scraped(door)
        assert found("tidegate_consumergroup_state", consumergroup="g", state="Stable") == 1
        assert found("tidegate_consumergroup_members", consumergroup="g") == 1
        assert found("tidegate_consumergroup_rebalances_total", consumergroup="g") == 1
        assert found("tidegate_consumergroups", state="Stable") == 1


@trio_test
async def test_a_group_of_the_new_protocol_is_told_alike(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        join = ConsumerGroupHeartbeatRequest(
            "new", "a", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        assert (await door.client.ask(join, 1)).error_code == 0
        found = scraped(door)
        assert found("tidegate_consumergroup_members", consumergroup="new") == 1
        assert found("tidegate_consumergroup_rebalances_total", consumergroup="new") == 1


@trio_test
async def test_a_share_group_is_told_alike_and_has_no_lag_of_commits(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        join = ShareGroupHeartbeatRequest("shared", "a", 0, subscribed_topic_names=["t"])
        assert (await door.client.ask(join)).error_code == 0
        assert door.door.broker.node.groups.statistics()["members"] == 1
        found = scraped(door)
        assert found("tidegate_consumergroup_members", consumergroup="shared") == 1
        assert found("tidegate_consumergroup_rebalances_total", consumergroup="shared") == 1
        assert found("tidegate_consumergroup_state", consumergroup="shared", state="Stable") == 1
        assert found.labels("tidegate_consumergroup_lag_sum", "consumergroup") == set()


@trio_test
async def test_lag_is_what_lies_between_commit_and_end(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await produced(door.client, "t", batch(5))
        await door.commit(2)
        found = scraped(door)
        assert found("tidegate_consumergroup_lag", consumergroup="g", topic="t", partition="0") == 3
        assert found("tidegate_consumergroup_current_offset", consumergroup="g", topic="t", partition="0") == 2
        assert found("tidegate_consumergroup_lag_sum", consumergroup="g") == 3


@trio_test
async def test_groups_beyond_the_limit_are_counted_only(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        for group in ("g", "h", "i"):
            await door.commit(0, group)
        found = scraped(door, groups=1)
        assert len(found.labels("tidegate_consumergroup_lag_sum", "consumergroup")) == 1
        assert found("tidegate_metrics_groups_left_out") == 2
        assert found("tidegate_consumergroups", state="Empty") == 3


@trio_test
async def test_places_beyond_the_limit_are_in_the_sum_alone(tmp_path: Path) -> None:
    async with group_door(tmp_path) as door:
        await produced(door.client, "t", batch(5))
        await door.commit(1)
        found = scraped(door, partitions=0)
        assert not found.has("tidegate_consumergroup_lag", consumergroup="g", topic="t", partition="0")
        assert found("tidegate_consumergroup_lag_sum", consumergroup="g") == 4
