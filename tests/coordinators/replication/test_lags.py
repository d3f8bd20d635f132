"""How far behind followers are, as a leader sees it."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from coordinators.replication.following import Following
from coordinators.replication.lags import ReplicaLags
from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import open_http_door
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced


@trio_test
async def test_nobody_follows_a_node_that_is_alone(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t")
        lags = door.broker.node.services[ReplicaLags]
        assert [lags.of(each) for each in door.broker.node.partitions] == [[]]
        assert list(lags.by_node())[-1] == {}


@trio_test
async def test_a_follower_that_hangs_falls_behind_in_records_bytes_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster_doors(tmp_path, **{"min.insync.replicas": 1, "replica.lag.time.max.ms": 500}) as doors:
        client, leader = await doors[1].connect(), doors[1].broker.node
        await create_on(client, "t", (1, 2))
        (partition,) = leader.partitions
        lags = leader.services[ReplicaLags]
        await until(lambda: lags.of(partition)[0].end_offset == 0)
        # The follower takes nothing any more, as if its disk hung.
        monkeypatch.setattr(Following, "take", lambda *_: None)
        for _ in range(3):
            await produced(client, "t", batch(), acks=1)
        await until(lambda: lags.of(partition)[0].seconds > 0.5 and not lags.of(partition)[0].is_in_sync)
        (lag,) = lags.of(partition)
        assert (lag.node_id, lag.end_offset, lag.records) == (2, 0, 3)
        assert lag.size_bytes == partition.log.size_bytes > 0
        nodes = list(lags.by_node())[-1]
        assert nodes is not None
        assert (nodes[2].records, nodes[2].size_bytes, nodes[2].partitions) == (3, lag.size_bytes, 1)
        # Who does not lead knows nothing of it.
        followed = next(iter(doors[2].broker.node.partitions))
        assert doors[2].broker.node.services[ReplicaLags].of(followed) == []
