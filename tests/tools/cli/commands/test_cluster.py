"""The cluster and its health from the command line."""

import pytest

from tests.tools.cli.conftest import Tidegate, run
from tidegate import testing
from tidegate.testing import RunningBroker
from tools.cli.door import Door


def test_the_nodes_are_told(tidegate: Tidegate, broker: RunningBroker) -> None:
    found = tidegate("cluster", "info", "-o", "json").data
    assert [(each["node"], each["port"], each["controller"]) for each in found["nodes"]] == [(1, broker.port, True)]
    assert found["cluster_id"] in tidegate("cluster", "info").out


def test_a_broker_that_is_well_is_status_0(tidegate: Tidegate) -> None:
    found = tidegate("status", "-o", "json")
    assert (found.code, found.data["ok"], found.data["health"]["status"]) == (0, True, "healthy")
    assert "serves clients" in tidegate("status").out


def test_a_broker_without_a_door_is_no_less_well(tidegate: Tidegate) -> None:
    found = tidegate("status", "--http", "http://127.0.0.1:1", "-o", "json")
    assert (found.code, found.data["health"]) == (0, None)
    assert "127.0.0.1:1" in found.data["http_error"]


def test_the_health_of_another_broker_is_not_taken_for_this_ones(tidegate: Tidegate) -> None:
    with testing.broker(timeout_s=60) as other:
        found = tidegate("status", "--http", other.http_url, "-o", "json")
        assert (found.code, found.data["ok"], found.data["health"]) == (1, False, None)
        assert "two brokers" in tidegate("status", "--http", other.http_url).out


def test_the_door_is_found_by_asking_the_broker(
    tidegate: Tidegate, broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDEGATE_CLI_HTTP")
    found = tidegate("status", "-o", "json").data
    assert (found["http"], found["health"]["status"]) == (broker.http_url, "healthy")
    gone = tidegate("status", "-b", "127.0.0.1:1", "--timeout", "2", "-o", "json")
    assert (gone.code, gone.data["http"]) == (3, None), "a broker that was named has no door by default"


def test_a_token_that_is_wanted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with testing.broker({"http.token": "secret"}, timeout_s=60) as broker:
        told = run("status", "-b", broker.bootstrap)
        assert (told.code, "TIDEGATE_CLI_TOKEN" in told.out) == (5, True)
        monkeypatch.setenv("TIDEGATE_CLI_TOKEN", "secret")
        assert run("status", "-b", broker.bootstrap).code == 0


def test_a_broker_that_does_not_serve_is_not_well(tidegate: Tidegate) -> None:
    half = tidegate("status", "-b", "127.0.0.1:1", "--timeout", "2", "-o", "json")
    assert (half.code, half.data["ok"]) == (1, False)
    none = tidegate("status", "-b", "127.0.0.1:1", "--http", "http://127.0.0.1:1", "--timeout", "2")
    assert none.code == 3


WELL = {"size_bytes": 4 << 30, "free_bytes": 3 << 30, "refused": None, "set_aside_files": 0, "set_aside_bytes": 0}
FULL = {"size_bytes": 4 << 30, "free_bytes": 0, "refused": "records of clients", "set_aside_files": 2}


@pytest.mark.parametrize(
    ("status", "storage", "code", "said"),
    [
        ("ok", WELL, 0, "disk     3.0 GiB free of 4.0 GiB\n"),
        ("degraded", FULL, 1, "disk     0 B free of 4.0 GiB; refused: records of clients; 2 files"),
        ("ok", None, 0, ""),
    ],
)
def test_a_full_disk_is_shown(
    tidegate: Tidegate,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    storage: dict[str, object] | None,
    code: int,
    said: str,
) -> None:
    health = {"status": status, "uptime_seconds": 1, "partitions": 1, "offline_partitions": 0}
    monkeypatch.setattr(Door, "health", lambda _: health if storage is None else {**health, "storage": storage})
    told = tidegate("status")
    assert (told.code, said in told.out) == (code, True), told.out
    assert tidegate("status", "-o", "json").data["health"].get("storage") == storage


def test_what_a_cluster_lacks_is_shown(tidegate: Tidegate, monkeypatch: pytest.MonkeyPatch) -> None:
    session = {"silent_seconds": 2.0, "duration_seconds": 1.0, "silent": True, "lost": False}
    counts = {"leaderless_partitions": 0, "under_min_isr_partitions": 2, "under_replicated_partitions": 5}
    health = {"status": "degraded", "uptime_seconds": 1, "partitions": 1, "offline_partitions": 0}
    told = {**health, "cluster": {"nodes": 2, **counts, "session": session}}
    monkeypatch.setattr(Door, "health", lambda _: told)
    found = tidegate("status")
    assert (found.code, "cluster  2 nodes, 2 partitions refuse acks=all" in found.out) == (1, True), found.out
    assert "session in etcd is not confirmed" in found.out
