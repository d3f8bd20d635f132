"""One partition with its replicas over HTTP."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import open_http_door
from tests.wire.kafka.door import until
from tests.wire.kafka.requests import batch, create_topic, produced
from wire.inner.asking import InnerClient


@trio_test
async def test_one_node_leads_and_holds_everything(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch())
        found = await door.get("/cluster/partitions/t/0")
        assert (found["leader"], found["isr"], found["elr"], found["told_by"]["leads"]) == (1, [1], [], True)
        assert found["told_by"]["ends"]["high_watermark"] == found["told_by"]["ends"]["end_offset"] == 1
        (replica,) = found["replicas"]
        assert (replica["node_id"], replica["in_sync"], replica["lag"]["records"]) == (1, True, 0)
        assert replica["lag"]["end_offset"] == 1
        for place in ("t/1", "nothing/0"):
            assert (await door.ask("GET", f"/cluster/partitions/{place}")).status == 404


@trio_test
async def test_any_node_tells_what_each_replica_lacks_as_the_leader_knows_it(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path) as doors:
        client = await doors[1].connect()
        await create_on(client, "t", (1, 2))
        assert (await produced(client, "t", batch())).error_code == 0
        lags = doors[1].broker.node.controller.replicas.partitions
        await until(lambda: all(each.high_watermark.offset == 1 for each in lags if each.log.end_offset))
        found = await doors[1].get("/cluster/partitions/t/0")
        assert (found["leader"], found["isr"], found["min_in_sync"]) == (1, [1, 2], 2)
        assert found["told_by"]["leads"]
        follower = found["replicas"][1]
        assert (follower["node_id"], follower["lag"]["end_offset"], follower["lag"]["records"]) == (2, 1, 0)
        elsewhere = await doors[2].get("/cluster/partitions/t/0")
        assert (elsewhere["told_by"]["leads"], elsewhere["told_by"]["node_id"]) == (True, 1)
        assert elsewhere["replicas"][1]["lag"]["end_offset"] == 1


@trio_test
async def test_a_node_tells_what_it_knows_itself_if_asked_or_where_the_leader_does_not_answer(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path) as doors:
        client = await doors[1].connect()
        await create_on(client, "t", (1, 2))
        assert (await produced(client, "t", batch())).error_code == 0
        own = await doors[2].get("/cluster/partitions/t/0?local=true")
        assert (own["leader"], own["told_by"]["leads"], own["told_by"]["node_id"]) == (1, False, 2)
        assert own["replicas"][0]["lag"] is None
        assert own["told_by"]["ends"]["end_offset"] == 1
        doors[2].broker.node.services[InnerClient].carrying.links = None
        alone = await doors[2].get("/cluster/partitions/t/0")
        assert (alone["leader"], alone["told_by"]["node_id"], alone["replicas"][0]["lag"]) == (1, 2, None)
