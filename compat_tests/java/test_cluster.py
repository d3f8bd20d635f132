"""ClusterTool, BrokerApiVersionsCommand, LogDirsCommand."""

import json
from collections.abc import Callable

from kafka.protocol.metadata import MetadataRequest

from compat_tests.java.tool import tool
from compat_tests.wire.batches import build
from compat_tests.wire.connection import ask
from compat_tests.wire.requests import produce, produced
from tools.reference.java import java_tool


def test_cluster_id(bootstrap: str) -> None:
    cluster_id = ask(bootstrap, MetadataRequest(version=2, topics=[])).cluster_id
    done = java_tool("ClusterTool", "cluster-id", "--bootstrap-server", bootstrap)
    assert done.stdout.strip() == f"Cluster ID: {cluster_id}"


def test_endpoints(bootstrap: str) -> None:
    done = java_tool("ClusterTool", "list-endpoints", "--bootstrap-server", bootstrap)
    host, port = bootstrap.split(":")
    (shown,) = [line.split() for line in done.stdout.splitlines()[1:]]
    assert shown[1:3] == [host, port]
    assert shown[-2:] == ["unfenced", "broker"]


def test_api_versions_are_usable(bootstrap: str) -> None:
    shown = tool("BrokerApiVersionsCommand", bootstrap)
    assert f"{bootstrap} (id: " in shown
    for api in ("Produce(0): 0 to", "Fetch(1): 4 to", "ListOffsets(2): 1 to", "ApiVersions(18): 0 to"):
        (line,) = [line for line in shown.splitlines() if line.strip().startswith(api)]
        assert "[usable: " in line


def test_log_dirs(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(2)
    batch = build([b"x" * 1000])
    assert produced(bootstrap, produce(topic, batch)).error_code == 0
    shown = tool("LogDirsCommand", bootstrap, "--describe", "--topic-list", topic)
    (line,) = [line for line in shown.splitlines() if line.startswith("{")]
    (broker,) = json.loads(line)["brokers"]
    (log_dir,) = broker["logDirs"]
    sizes = {found["partition"]: found["size"] for found in log_dir["partitions"]}
    assert sizes == {f"{topic}-0": len(batch), f"{topic}-1": 0}
