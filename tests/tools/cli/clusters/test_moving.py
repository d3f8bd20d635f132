"""What is under way, and how much of it has been copied."""

from attrs import evolve

from tests.tools.cli.clusters.test_plans import layout
from tests.tools.cli.conftest import Tidegate
from tools.cli.clusters.moving import status_rows


def test_what_moves_is_told_with_what_is_there_already() -> None:
    before = layout((1, 2), (2, 1), size_bytes=100)
    moving = evolve(before.partitions[0], replicas=(1, 3, 2), adding=(3,), removing=(2,))
    sizes = {(("t", 0), 1): 100, (("t", 0), 3): 40}
    (row,) = status_rows(evolve(before, partitions=[moving, before.partitions[1]], sizes=sizes))
    assert (row["partition"], row["replicas"], row["adding"], row["removing"]) == (0, [1, 3], [3], [2])
    assert (row["copied_bytes"], row["size_bytes"], row["in_sync"]) == (40, 100, [])


def test_on_one_node_there_is_nothing_to_move(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "stays", "--if-not-exists")
    assert tidegate("cluster", "reassign", "status", "-o", "json").data == []
    assert tidegate("cluster", "rebalance", "--yes").out.startswith("nothing has to be moved")
    refused = tidegate("cluster", "drain", "1", "--yes")
    assert (refused.code, "only 0 nodes can hold them" in refused.err) == (2, True)
    assert tidegate("cluster", "drain", "9", "--dry-run").code == 2
    assert tidegate("cluster", "reassign", "plan", "--nodes", "one").code == 2
    assert tidegate("cluster", "reassign", "apply", "/nowhere/plan.json", "--yes").code == 2
    assert tidegate("cluster", "reassign", "apply", "-", "--yes", stdin="no plan").code == 2


def test_a_plan_that_cannot_be_is_refused_by_the_broker(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "stays", "--if-not-exists")
    plan = '{"partitions": [{"topic": "stays", "partition": 0, "replicas": [1, 7]}]}'
    refused = tidegate("cluster", "reassign", "apply", "-", "--yes", "-o", "json", stdin=plan)
    assert (refused.code, refused.data["refused"][0]["name"]) == (5, "stays-0")
