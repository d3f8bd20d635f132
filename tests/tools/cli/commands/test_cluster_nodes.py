"""Nodes, partitions and elections from the command line, of one node."""

import yaml

from tests.tools.cli.conftest import Tidegate


def test_one_node_leads_everything(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "seen", "--partitions", "2", "--if-not-exists")
    (node,) = tidegate("cluster", "nodes", "-o", "json").data
    assert (node["node"], node["state"], node["controller"]) == (1, "serves", True)
    assert node["leaders"] == node["replicas"] == node["in_sync"] >= 2
    assert "serves" in tidegate("cluster", "nodes").out


def test_partitions_are_told_in_every_format(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "seen", "--partitions", "2", "--if-not-exists")
    found = yaml.safe_load(tidegate("cluster", "partitions", "seen", "--lag", "-o", "yaml").out)
    assert [(each["partition"], each["isr"], each["lags"][0]["lag"]["records"]) for each in found] == [
        (0, [1], 0),
        (1, [1], 0),
    ]
    assert "1: 0" in tidegate("cluster", "partitions", "seen", "--lag").out
    assert tidegate("cluster", "partitions", "nothing-there").code == 4
    assert tidegate("cluster", "partitions", "seen", "--lacking").err.startswith("all partitions have")


def test_there_is_nothing_to_elect(tidegate: Tidegate) -> None:
    tidegate("topic", "create", "seen", "--partitions", "2", "--if-not-exists")
    assert tidegate("cluster", "elect").out.startswith("nothing to elect")
    found = tidegate("cluster", "elect", "seen", "--partition", "1", "-o", "json").data
    assert (found["elected"], found["not_needed"]) == ([], ["seen-1"])
    refused = tidegate("cluster", "elect", "seen", "--unclean")
    assert (refused.code, "say --yes" in refused.err) == (2, True)
