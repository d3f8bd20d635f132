"""The cluster and its health from the command line."""

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker


def test_the_nodes_are_told(tidegate: Tidegate, broker: RunningBroker) -> None:
    found = tidegate("cluster", "info", "-o", "json").data
    assert [(each["node"], each["port"], each["controller"]) for each in found["nodes"]] == [(1, broker.port, True)]
    assert found["cluster_id"] in tidegate("cluster", "info").out


def test_a_broker_that_is_well_is_status_0(tidegate: Tidegate) -> None:
    found = tidegate("status", "-o", "json")
    assert (found.code, found.data["ok"], found.data["health"]["status"]) == (0, True, "ok")
    assert "serves clients" in tidegate("status").out


def test_a_broker_without_a_door_is_no_less_well(tidegate: Tidegate) -> None:
    found = tidegate("status", "--http", "http://127.0.0.1:1", "-o", "json")
    assert (found.code, found.data["health"]) == (0, None)
    assert "127.0.0.1:1" in found.data["http_error"]


def test_a_broker_that_does_not_serve_is_not_well(tidegate: Tidegate) -> None:
    half = tidegate("status", "-b", "127.0.0.1:1", "--timeout", "2", "-o", "json")
    assert (half.code, half.data["ok"]) == (1, False)
    none = tidegate("status", "-b", "127.0.0.1:1", "--http", "http://127.0.0.1:1", "--timeout", "2")
    assert none.code == 3
