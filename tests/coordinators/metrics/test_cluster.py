"""Figures of the cluster."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, trio_test

from coordinators.cluster.membership import ClusterMembership
from coordinators.metrics.cluster import ClusterMetrics
from coordinators.replication.lags import ReplicaLags
from engine.catalogue.records import PartitionRecord
from tests.coordinators.cluster.members import cluster
from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import open_http_door
from tests.wire.http.scraping import collected, scrape
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced


@trio_test
async def test_one_node_lacks_nothing_and_is_its_own_controller(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 3)
        found = await scrape(door)
        assert found("tidegate_partitions_led") == 3
        assert found("tidegate_controller") == found("tidegate_nodes", state="serving") == 1
        for name in ("partitions_under_replicated", "partitions_under_min_isr", "partitions_leaderless"):
            assert found(f"tidegate_{name}") == 0
        assert found("tidegate_session_silent_seconds") == found("tidegate_session_duration_seconds") == 0


@trio_test
async def test_what_nodes_send_each_other_is_counted_on_both_sides(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path) as doors:
        client = await doors[1].connect()
        await create_on(client, "t", (1, 2), (2, 1))
        assert (await produced(client, "t", batch())).error_code == 0
        leader, follower = await scrape(doors[1]), await scrape(doors[2])
        sent = leader("tidegate_replication_sent_bytes_total")
        assert sent == follower("tidegate_replication_received_bytes_total") > 0
        assert leader("tidegate_partitions_led") == follower("tidegate_partitions_led") == 1
        assert leader("tidegate_replica_lag_records", follower="2") == 0
        assert leader("tidegate_controller") + follower("tidegate_controller") == 1
        assert leader("tidegate_etcd_call_duration_seconds_count", operation="txn") > 0
        assert 0 <= leader("tidegate_session_silent_seconds") < leader("tidegate_session_duration_seconds")


@trio_test
async def test_a_node_that_goes_leaves_partitions_that_lack_a_replica(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path) as doors:
        client = await doors[1].connect()
        await create_on(client, "t", (1, 2), (2, 1))
        await doors[2].broker.node.services[ClusterMembership].resign()
        nodes = doors[1].broker.node.controller.replicas.nodes
        await until(lambda: 2 not in nodes.by_id)
        with trio.fail_after(10):
            while (found := await scrape(doors[1]))("tidegate_partitions_led") < 2:
                await trio.lowlevel.checkpoint()
        assert found("tidegate_partitions_under_replicated") == 2
        # Two are asked for, and one is left.
        assert found("tidegate_partitions_under_min_isr") == 2
        assert found("tidegate_partitions_not_preferred") == 1
        told = [await scrape(door) for door in doors.values()]
        assert sum(each("tidegate_leader_elections_total", kind="stopping") for each in told) == 1


@pytest.fixture
def jumping() -> MockClock:
    """Time that passes at once when nobody has anything to do."""
    return MockClock(autojump_threshold=0)


@trio_test
async def test_a_failover_is_counted_with_its_time_by_the_controller(jumping: MockClock) -> None:
    async with cluster() as three:
        await three.start(1, 2, 3)
        three.put_topic([PartitionRecord.on(2, 1), PartitionRecord.on(3)])
        three.crash(2)
        three.crash(3)
        first = three.members[1]
        await three.until(lambda: first.role.failovers == 1 and first.elections.leaders_lost == 1)
        metrics = ClusterMetrics(first.role, ReplicaLags(first.replicas.partitions))
        await three.until(lambda: collected(metrics.collect())("tidegate_partitions_leaderless") == 1)
        found = collected(metrics.collect())
        assert found("tidegate_failover_duration_seconds_count") == 1
        assert found("tidegate_leader_elections_total", kind="clean") == 1
        assert found("tidegate_leaders_lost_total") == 1
        assert found("tidegate_controller") == found("tidegate_registrations_total") == 1
