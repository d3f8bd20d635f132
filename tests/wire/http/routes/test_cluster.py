"""The cluster and its metadata over HTTP."""

from pathlib import Path

from trio.testing import trio_test

import tidegate
from coordinators.cluster.membership import ClusterMembership
from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import open_http_door
from tests.wire.kafka.door import until
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


@trio_test
async def test_one_node_is_its_own_controller_and_lacks_nothing(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        await create_topic(await door.connect(), "t", 3)
        cluster = await door.get("/cluster")
        assert (cluster["controller_id"], cluster["lacking"]["under_replicated"]) == (1, 0)
        nodes = await door.get("/cluster/nodes")
        (node,) = nodes["items"]
        assert (node["state"], node["is_controller"]) == ("serving", True)
        assert node["load"] == {"leaders": 3, "preferred": 3, "replicas": 3, "in_sync": 3}
        assert nodes["absent"] == []
        assert (await door.get("/cluster/events"))["total"] == len((await door.get("/cluster/events"))["items"])


@trio_test
async def test_a_node_that_goes_is_told_by_those_that_stay(tmp_path: Path) -> None:
    async with cluster_doors(tmp_path / "three", 3) as doors:
        client = await doors[1].connect()
        await create_on(client, "t", (1, 2, 3), (3, 1, 2))
        assert (await doors[1].get("/health"))["status"] == "healthy"
        await doors[3].broker.node.services[ClusterMembership].resign()
        nodes = doors[1].broker.node.controller.replicas.nodes
        await until(lambda: 3 not in nodes.by_id)
        found = await doors[1].get("/cluster/nodes")
        assert [each["node_id"] for each in found["items"]] == [1, 2]
        assert found["absent"] == [3]
        assert sum(each["is_controller"] for each in found["items"]) <= 1
        events = (await doors[1].get("/cluster/events"))["items"]
        assert {(each["what"], each["node_id"]) for each in events} >= {("stopping", 3), ("gone", 3), ("leader", 1)}
        numbers = [each["number"] for each in events]
        assert numbers == sorted(numbers, reverse=True)
        health = await doors[1].ask("GET", "/health")
        assert (health.status, health.json()["cluster"]["under_replicated_partitions"]) == (503, 2)
        assert health.json()["cluster"]["session"] == {
            **health.json()["cluster"]["session"],
            "silent": False,
            "lost": False,
        }
