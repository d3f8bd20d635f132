"""The cluster and its metadata over HTTP."""

from pathlib import Path

from trio.testing import trio_test

import tidegate
from tests.wire.http.door import open_http_door
from tests.wire.kafka.requests import create_topic


@trio_test
async def test_the_cluster_is_told_with_its_nodes_and_load(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"node.id": 7, "broker.rack": "r"}) as door:
        await create_topic(await door.connect(), "t", 3)
        cluster = await door.get("/cluster")
        host, port = door.broker.kafka_address.split(":")
        assert cluster["nodes"] == [{"node_id": 7, "rack": "r", "addresses": [{"host": host, "port": int(port)}]}]
        assert cluster["cluster_id"] == door.broker.node.identity.cluster_id
        assert cluster["version"] == tidegate.__version__
        assert (cluster["topics"], cluster["partitions"], cluster["connections"]) == (1, 3, 1)


@trio_test
async def test_metadata_pages_over_the_partitions_of_all_topics(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        for name, partitions in (("b", 3), ("a", 2), ("c", 1)):
            await create_topic(client, name, partitions)

        async def page(query: str) -> list[str]:
            found = (await door.get(f"/metadata?{query}"))["partitions"]
            assert found["total"] == 6
            return [f"{each['topic']}{each['partition']}" for each in found["items"]]

        assert await page("") == ["a0", "a1", "b0", "b1", "b2", "c0"]
        assert await page("limit=3&skip=1") == ["a1", "b0", "b1"]
        assert await page("skip=5") == ["c0"]
        assert await page("skip=6") == []
        first = (await door.get("/metadata?limit=1"))["partitions"]["items"][0]
        assert first["leader"] == 1
        assert first["replicas"] == first["isr"] == [1]
