"""`tidegate cluster run`: it says where to connect, tells when a node ends, and takes everything down with it."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tidegate.__main__ import _parser
from tidegate.cluster_run import ClusterPlan, settings_of


@contextmanager
def _running(*arguments: str, environment: dict[str, str] | None = None) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "tidegate", "cluster", "run", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )
    with process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _line(process: "subprocess.Popen[str]", pattern: str) -> "re.Match[str]":
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if match := re.search(pattern, line):
            return match
    raise AssertionError(said)


def _processes(directory: Path) -> list[int]:
    """Those that name the directory on their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(str(directory).encode() in word for word in words):
            found.append(int(place.parent.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_it_is_told_to_stop_and_leaves_nothing_running(tmp_path: Path, number: int) -> None:
    with _running("--nodes", "2", "--data-dir", str(tmp_path), "--port", "0", "--http-port", "-1") as process:
        bootstrap = _line(process, "^tidegate cluster ready bootstrap=(\\S+)")[1]
        assert len(bootstrap.split(",")) == 2
        assert sorted(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers) == [1, 2]
        process.send_signal(number)
        _line(process, "the cluster stops")
        assert process.wait(30) == 0
        assert _processes(tmp_path) == []
    assert {"etcd", "node-1", "node-2", "node-1.log", "node-2.log"} <= {entry.name for entry in tmp_path.iterdir()}


def test_it_tells_when_a_node_ends_and_ends_with_the_last(tmp_path: Path) -> None:
    with _running("--nodes", "2", "--data-dir", str(tmp_path), "--port", "0", "--http-port", "0") as process:
        _line(process, "ready")
        for node_id in (1, 2):
            os.kill(int((tmp_path / f"node-{node_id}" / ".lock").read_text()), signal.SIGKILL)
            _line(process, f"node {node_id} has ended by itself; {tmp_path}/node-{node_id}.log")
            _line(process, f"to start it again: tidegate serve --node-id {node_id} --etcd http://127.0.0.1:")
        assert process.wait(30) == 1


def test_without_etcd_it_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; from tidegate import etcd; etcd.PLACES = (); etcd.shutil.which = lambda _name: None;"
        "from tidegate.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "cluster", "run", "--data-dir", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "apt install etcd-server" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_setting_that_is_none_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tidegate", "cluster", "run", "--data-dir", str(tmp_path), "--set", "what"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "must be key=value" in ended.stderr) == (2, True)
    assert settings_of(["a=1", "b = 2"]) == {"a": "1", "b": "2"}


def test_nodes_have_consecutive_ports_and_numbers_and_the_rack_that_was_named(tmp_path: Path) -> None:
    plan = ClusterPlan(2, tmp_path, "http://a:2379", "r1", 4, "::1", 9092, 8080, {"num.partitions": "6"})
    told = {node_id: node._config for node_id, node in plan.cluster().nodes.items()}
    shared = {"num.partitions": "6", "broker.rack": "r1", "etcd.endpoints": "http://a:2379"}
    assert told == {
        4: {**shared, "node.id": "4", "listeners": "PLAINTEXT://[::1]:9092", "http.port": "8080"},
        5: {**shared, "node.id": "5", "listeners": "PLAINTEXT://[::1]:9093", "http.port": "8081"},
    }


def test_a_node_is_started_again_by_what_is_told(tmp_path: Path) -> None:
    plan = ClusterPlan(2, tmp_path, None, "r 1", 4)
    words = shlex.split(plan.start_command(5, "http://a:2379"))
    assert words[:2] == ["tidegate", "serve"]
    given = _parser().parse_args(words[2:])
    assert (given.node_id, given.etcd, given.rack) == (5, "http://a:2379", "r 1")
    assert given.data_dir == str(tmp_path / "node-5")
    assert given.set == ["listeners=PLAINTEXT://127.0.0.1:9093", "http.port=8081"]


def test_what_all_nodes_were_told_may_be_secret_and_is_not_repeated(tmp_path: Path) -> None:
    told = ClusterPlan(2, tmp_path, settings={"etcd.password": "sesame"}).start_command(1, "http://a:2379")
    assert "sesame" not in told
    assert told.endswith("and each --set of this command")


def test_without_a_rack_nodes_have_none_and_what_is_set_goes_first(tmp_path: Path) -> None:
    plan = ClusterPlan(1, tmp_path, "http://a", port=0, http_port=0, settings={"http.port": "7"})
    (node,) = plan.cluster().nodes.values()
    assert "broker.rack" not in node._config
    assert node._config["listeners"] == "PLAINTEXT://127.0.0.1:0"
    assert node._config["http.port"] == "7"


def test_listeners_that_are_given_have_ports_of_their_own_on_every_node(tmp_path: Path) -> None:
    listeners = "CLIENTS://127.0.0.1:9092,NODES://127.0.0.1:9192,FREE://127.0.0.1:0"
    plan = ClusterPlan(
        2, tmp_path, "http://a", settings={"listeners": listeners, "inter.broker.listener.name": "NODES"}
    )
    told = [node._config for node in plan.cluster().nodes.values()]
    assert told[0]["listeners"] == listeners
    assert told[1]["listeners"] == "CLIENTS://127.0.0.1:9093,NODES://127.0.0.1:9193,FREE://127.0.0.1:0"
    assert {each["inter.broker.listener.name"] for each in told} == {"NODES"}


def test_what_are_no_listeners_is_left_for_the_nodes_to_refuse(tmp_path: Path) -> None:
    plan = ClusterPlan(1, tmp_path, "http://a", settings={"listeners": "nowhere"})
    (node,) = plan.cluster().nodes.values()
    assert node._config["listeners"] == "nowhere"
