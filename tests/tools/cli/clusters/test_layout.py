"""How partitions lie, asked of a broker."""

import pytest

from tests.tools.cli.clusters.test_plans import layout
from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker
from tools.cli.clusters.layout import LayoutNode, PartitionLayout, read_layout
from tools.cli.errors import NotFound
from tools.cli.kafka import connected, run
from tools.cli.profiles import Profile


def test_one_node_holds_everything(tidegate: Tidegate, broker: RunningBroker) -> None:
    tidegate("topic", "create", "laid-out", "--partitions", "2")
    tidegate("produce", "laid-out", "one", "two")

    async def work() -> object:
        async with connected(Profile(bootstrap=broker.bootstrap)) as kafka:
            return await read_layout(kafka, ["laid-out"])

    found = run(work())
    assert list(found.nodes) == [1]  # type: ignore[attr-defined]
    partitions = found.partitions  # type: ignore[attr-defined]
    assert [(each.key, each.replicas, each.isr, each.leader) for each in partitions] == [
        (("laid-out", 0), (1,), (1,), 1),
        (("laid-out", 1), (1,), (1,), 1),
    ]
    assert sum(each.size_bytes for each in partitions) > 0
    assert not any(each.lacks for each in partitions)


def test_a_partition_lacks_something_without_a_leader_or_with_replicas_out_of_sync() -> None:
    assert PartitionLayout("t", 0, -1, (1, 2), (1, 2)).lacks
    assert PartitionLayout("t", 0, 1, (1, 2), (1,)).lacks
    moving = PartitionLayout("t", 0, 1, (1, 3, 2), (1, 2), adding=(3,), removing=(2,))
    assert (moving.lacks, moving.target) == (False, (1, 3))


def test_nodes_without_a_rack_stand_alone() -> None:
    assert LayoutNode(1, "h", 1).place != LayoutNode(2, "h", 2).place
    assert LayoutNode(1, "h", 1, "r").place == LayoutNode(2, "h", 2, "r").place


def test_a_topic_that_is_not_there_is_told() -> None:
    with pytest.raises(NotFound, match="'gone'"):
        layout((1,)).of_topics(["gone"])
    assert len(layout((1,), (2,)).of_topics([])) == 2
