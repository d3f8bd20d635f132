"""A node's parts in a cluster are told of roles, epochs, stages and partitions that go."""

import pytest
import trio
from trio.testing import MockClock, trio_test

from tests.coordinators.replication.world import LAG_S, TOPIC_ID, replication


@pytest.fixture
def jumping() -> MockClock:
    """Time that passes at once when nobody has anything to do."""
    return MockClock(autojump_threshold=0)


@trio_test
async def test_who_leads_watches_its_followers_and_who_resigns_forgets_them(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        first, second = (world.nodes[number].replication.in_sync for number in (1, 2))
        await trio.sleep(1)
        assert (TOPIC_ID, 0) in first._led_since
        assert first._followers
        await world.elect(2)
        await trio.sleep(1)
        assert not first._led_since
        assert not first._followers
        assert (TOPIC_ID, 0) in second._led_since


@trio_test
async def test_the_settings_of_the_node_are_those_of_its_replication(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        parts = world.nodes[1].replication
        assert parts.in_sync.lag_max_s() == LAG_S
        limits = parts.fetching.services.limits
        settings = world.nodes[1].replicas.topics.settings
        assert limits.wait_ms == settings.integer("replica.fetch.wait.max.ms")
        assert limits.max_partition_bytes == settings.integer("replica.fetch.max.bytes")


@trio_test
async def test_a_partition_that_moves_away_is_followed_no_longer(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        first, second = world.nodes[1], world.nodes[2]
        await trio.sleep(1)
        world.change_row(replicas=(1,), isr=(1,))
        await world.until(lambda: second.partitions.get(TOPIC_ID, 0) is None)
        await trio.sleep(1)
        assert all(fetcher.is_idle for fetcher in second.replication.fetching._fetchers.values())
        assert first.replication.followers.statistics()["logs"] == 0


@trio_test
async def test_a_stage_that_is_made_is_told_to_those_who_follow(jumping: MockClock) -> None:
    async with replication(1, 2, replicas=(1, 2)) as world:
        first, second = world.nodes[1], world.nodes[2]
        await trio.sleep(1)
        began = trio.current_time()
        waits = first.hold("a")
        await world.until(lambda: waits == [None])
        assert trio.current_time() - began < 0.5
        assert second.stage_log.end_offset > 0
