"""What a node finds at its start that it does not hold any more."""

import os

import pytest
from trio.testing import trio_test

from coordinators.cluster.strays import Strays
from coordinators.topics import Topics
from engine.catalogue.memory import MemoryCatalogue
from engine.config.resolve import BrokerSettings
from engine.errors import StorageError
from tests.coordinators.cluster.nodes import ClusterNode, place
from tidegate.config_keys import BROKER_KEYS


async def written(catalogue: MemoryCatalogue) -> tuple[ClusterNode, dict[str, str]]:
    """A node with two topics; of one a partition has moved, the other was deleted, and it has not heard of that."""
    one = ClusterNode(1, catalogue)
    kept, gone = await one.create("kept", 2), await one.create("gone")
    one.write(kept, 0)
    one.write(kept, 1)
    one.write(gone)
    place(catalogue, kept, 1, replicas=(2,), isr=(2,), leader=2)
    other = ClusterNode(2, catalogue)
    await other.controller.delete_topics(["gone"])
    await other.background.run()
    directory = one.partitions.directory
    return one, {
        "held": directory(kept.topic_id, 0),
        "moved": directory(kept.topic_id, 1),
        "deleted": directory(gone.topic_id),
    }


def left(node: ClusterNode, places: dict[str, str], *, alone: bool, node_id: int = 1) -> list[str]:
    topics = Topics.load(node.catalogue, BrokerSettings(keys=BROKER_KEYS), node_id, os.urandom)
    Strays(topics, node.partitions, has_own_catalogue=alone).look(holds_any=node_id == 1)
    listed = node.files.list
    return [name for name, path in places.items() if listed(path) or node.files.list_directories(path)]


@trio_test
async def test_in_a_cluster_what_has_gone_meanwhile_is_removed() -> None:
    catalogue = MemoryCatalogue()
    node, places = await written(catalogue)
    assert left(node, places, alone=False) == ["held"]
    assert left(node, places, alone=False) == ["held"]


@trio_test
async def test_a_topic_that_is_being_deleted_is_left_to_the_deletion() -> None:
    catalogue = MemoryCatalogue()
    one = ClusterNode(1, catalogue)
    topic = await one.create("t")
    one.write(topic)
    await ClusterNode(2, catalogue).controller.delete_topics(["t"])
    places = {"deleting": one.partitions.directory(topic.topic_id)}
    assert left(one, places, alone=False) == ["deleting"]


@trio_test
async def test_a_broker_by_itself_leaves_everything_alone(caplog: pytest.LogCaptureFixture) -> None:
    catalogue = MemoryCatalogue()
    node, places = await written(catalogue)
    assert left(node, places, alone=True) == ["held", "moved", "deleted"]
    assert "such as partition 1 of 'kept', lie on other nodes" in caplog.text
    with pytest.raises(StorageError, match=r"is node\.id what it was\?"):
        left(node, places, alone=True, node_id=3)
