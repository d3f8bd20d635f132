"""Three nodes in three racks that the whole folder shares. Every scenario leaves them as it found them: all there and
in sync."""

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from compat_tests import brokers
from compat_tests.admin import admin_client
from compat_tests.conftest import unique_name
from tools.chaos.cluster import ChaosCluster

WHOLE_S = 60.0
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "http.port": "-1",
    # Enough for every node to coordinate something, and few enough to move in a moment.
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.num.partitions": "6",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A cluster of Kafka's own is no part of the harness."""
    if brokers.target() == "kafka":
        for item in items:
            if "compat_tests/cluster/" in item.path.as_posix():
                item.add_marker(
                    pytest.mark.skip(reason="the cluster is Tidegate's; `python -m tools.chaos` has Kafka's")
                )


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[ChaosCluster]:
    """Three nodes, and an etcd."""
    with (
        tempfile.TemporaryDirectory(prefix="compat-cluster-", ignore_cleanup_errors=True) as directory,
        ChaosCluster.make(Path(directory), settings=SETTINGS) as cluster,
    ):
        yield cluster


@pytest.fixture
def cluster(shared_cluster: ChaosCluster) -> Iterator[ChaosCluster]:
    """All nodes run and are in sync, before and after."""
    shared_cluster.wait_until_whole(WHOLE_S)
    yield shared_cluster
    for node in shared_cluster.nodes.values():
        if node.is_paused:
            node.resume()
        if not node.is_running:
            node.kill()
            node.start()
    shared_cluster.wait_until_whole(WHOLE_S)


@pytest.fixture
def bootstrap(cluster: ChaosCluster) -> str:
    """Of all nodes."""
    return cluster.bootstrap


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """The same in every run of a test."""
    return random.Random(request.node.name)


@pytest.fixture
def make_topic(cluster: ChaosCluster, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Creates a topic with a replica on every node, and gives its name."""

    def make(partitions: int = 1, **configs: object) -> str:
        name = unique_name(request.node.name)
        settings = {key.replace("_", "."): str(value) for key, value in configs.items()}
        topic = NewTopic(name, partitions, 3, config=settings)
        admin_client(cluster.bootstrap).create_topics([topic])[name].result(20)
        cluster.wait_until_whole(WHOLE_S)
        return name

    return make
