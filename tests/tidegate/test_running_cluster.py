"""A cluster for tests: real nodes and a real etcd, which can be killed, paused and started again one by one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tidegate import testing
from tidegate.etcd import RunningEtcd
from tidegate.running_cluster import EtcdElsewhere, RunningCluster
from tidegate.testing import BrokerDidNotStart, BrokerEnded


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with testing.cluster(nodes=3, num_partitions=2, racks=("a", "b")) as running:
        yield running


def _until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def _has_topic(cluster: RunningCluster, node_id: int, name: str) -> bool:
    return name in _admin(cluster.node(node_id).bootstrap).list_topics(timeout=10).topics


def _create(bootstrap: str, name: str) -> None:
    admin = _admin(bootstrap)
    (made,) = admin.create_topics([NewTopic(name)]).values()
    made.result(20)


def test_every_node_knows_every_other(cluster: RunningCluster) -> None:
    for node in cluster.nodes.values():
        told = _admin(node.bootstrap).list_topics(timeout=10)
        assert [f"{each.host}:{each.port}" for _, each in sorted(told.brokers.items())] == cluster.bootstrap.split(",")


def test_what_one_node_makes_the_others_know(cluster: RunningCluster) -> None:
    _create(cluster.node(1).bootstrap, "made")
    for node_id in (2, 3):
        _until(lambda at=node_id: _has_topic(cluster, at, "made"))  # type: ignore[misc]
    partitions = _admin(cluster.bootstrap).list_topics("made", timeout=10).topics["made"].partitions
    assert len(partitions) == 2, "the setting that all nodes were given"


def test_a_node_that_was_killed_comes_back_on_its_port_and_has_missed_nothing(cluster: RunningCluster) -> None:
    port, pid = cluster.node(2).port, cluster.node(2).pid
    cluster.kill(2)
    assert not cluster.node(2).is_running
    _create(cluster.node(1).bootstrap, "meanwhile")
    cluster.start(2)
    assert (cluster.node(2).port, cluster.node(2).pid != pid) == (port, True)
    assert _has_topic(cluster, 2, "meanwhile")


def test_a_node_is_stopped_and_restarted(cluster: RunningCluster) -> None:
    cluster.stop(3)
    cluster.restart(3)
    pid = cluster.node(3).pid
    cluster.restart(3)
    assert cluster.node(3).pid != pid


def test_a_node_that_is_paused_stands_still_until_it_is_resumed(cluster: RunningCluster) -> None:
    cluster.pause(1)
    _until(lambda: _state(cluster.node(1).pid) == "T")
    cluster.resume(1)
    _until(lambda: _state(cluster.node(1).pid) != "T")
    assert _has_topic(cluster, 1, "made")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_changes_are_refused_while_etcd_is_away_and_records_are_taken(cluster: RunningCluster) -> None:
    assert isinstance(cluster.etcd, RunningEtcd)
    _create(cluster.bootstrap, "before")
    cluster.etcd.kill()
    try:
        began = time.monotonic()
        with pytest.raises(Exception, match=r"etcd|KafkaError"):
            _create(cluster.node(1).bootstrap, "refused")
        assert time.monotonic() - began < 20
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        producer.produce("before", b"one coffee", partition=0)
        assert producer.flush(10) == 0
    finally:
        cluster.etcd.start()
    _until(lambda: _is_made(cluster, "after"))
    _until(lambda: _has_topic(cluster, 3, "after"))


def _is_made(cluster: RunningCluster, name: str) -> bool:
    try:
        _create(cluster.node(1).bootstrap, name)
    except Exception:
        return _has_topic(cluster, 1, name)
    return True


def test_a_node_that_ended_by_itself_is_told_at_the_end(tmp_path: Path) -> None:
    etcd = RunningEtcd(tmp_path / "etcd")
    running = RunningCluster.make(tmp_path, 1, {}, etcd=etcd)
    running.__enter__()
    os.kill(running.node(1).pid, signal.SIGKILL)
    _until(lambda: not running.node(1).is_running)
    with pytest.raises(BrokerEnded, match="exit code"):
        running.__exit__(None, None, None)
    assert not etcd.is_running


def test_a_node_that_does_not_start_ends_all_others_and_says_why(tmp_path: Path) -> None:
    made = RunningCluster.make(tmp_path, 2, {}, etcd=EtcdElsewhere("http://127.0.0.1:1"))
    with pytest.raises(BrokerDidNotStart, match="no etcd answers"):
        made.__enter__()
    assert not any(node.is_running for node in made.nodes.values())


def test_it_needs_nothing_but_the_standard_library_in_the_users_program() -> None:
    """Who may have packages of the same names as ours."""
    program = (
        "import sys; import tidegate.running_cluster, tidegate.testing;"
        "print({name.split('.')[0] for name in sys.modules} & {'engine', 'coordinators', 'wire', 'tools', 'attr'})"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "set()"
