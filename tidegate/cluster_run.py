"""`tidegate cluster run`: an etcd and some nodes on this machine, until Ctrl-C or SIGTERM. To see a cluster work, to
develop against one, and to run several nodes on a machine with many cores (then with an etcd of its own, `--etcd`)."""

import shlex
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from tidegate.running_cluster import EtcdElsewhere, RunningCluster
from tidegate.testing import RunningBroker
from wire.kafka.listeners import parse_listener

LOOK_S = 0.5
START_S = 60.0
DEFAULT_DATA_DIR = "cluster-data"


@frozen
class ClusterPlan:
    """What is to be run."""

    nodes: int
    data_dir: Path
    etcd: str | None = None
    """Where one runs; without it one is run here."""
    rack: str | None = None
    first_node_id: int = 1
    host: str = "127.0.0.1"
    port: int = 9092
    """Of the first node; 0 takes free ones."""
    http_port: int = 8080
    """The same of the operations doors; 0 for none, -1 takes free ones."""
    settings: Mapping[str, str] = {}

    def cluster(self) -> RunningCluster:
        """Made, not yet started."""
        return RunningCluster.make(
            self.data_dir,
            self.nodes,
            self.settings,
            etcd=None if self.etcd is None else EtcdElsewhere(self.etcd),
            own={self.first_node_id + place: self._own(place) for place in range(self.nodes)},
            racks=() if self.rack is None else (self.rack,),
            timeout_s=START_S,
        )

    def _own(self, place: int) -> dict[str, str]:
        """What one node is told besides what all are."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port, http_port = self.port + place if self.port else 0, self.http_port + place if self.http_port > 0 else -1
        keys = {"listeners": f"PLAINTEXT://{host}:{port}", "http.port": str(http_port if self.http_port else 0)}
        given = {name: self.settings[name] for name in ("listeners", "advertised.listeners") if name in self.settings}
        own = {name: value for name, value in keys.items() if name not in self.settings}
        return own | {name: _moved(value, place) for name, value in given.items()}

    def start_command(self, node_id: int, etcd_url: str) -> str:
        """What starts one of the nodes by itself, on its data and ports. What all were told besides may be secret."""
        words = ["tidegate", "serve", "--node-id", str(node_id), "--etcd", etcd_url]
        words += ["--data-dir", str(self.data_dir / f"node-{node_id}"), *(["--rack", self.rack] if self.rack else [])]
        for name, value in self._own(node_id - self.first_node_id).items():
            words += ["--set", f"{name}={value}"]
        return shlex.join(words) + (" and each --set of this command" if self.settings else "")


def _moved(listeners: str, place: int) -> str:
    """The listeners of one of the nodes: where the first has a port, the others have the next ones. What is no listener
    is left for the node to refuse."""
    try:
        parsed = [parse_listener(each) for each in listeners.split(",")]
    except ValueError:
        return listeners
    return ",".join(str(evolve(each, port=each.port + place if each.port else 0)) for each in parsed)


class _StopSignals:
    """SIGINT and SIGTERM: while the nodes start they interrupt that, later they are waited for."""

    def __init__(self) -> None:
        self.is_starting = True
        self.asked = threading.Event()

    def __enter__(self) -> "_StopSignals":
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: object) -> None:
        self.asked.set()
        if self.is_starting:
            raise KeyboardInterrupt


def run(plan: ClusterPlan) -> int:
    """Run it until told to stop; the exit status."""
    with _StopSignals() as signals, plan.cluster() as cluster:
        signals.is_starting = False
        _say(f"tidegate cluster ready bootstrap={cluster.bootstrap}")
        _say(f"etcd: {cluster.etcd.url}; data and logs: {plan.data_dir}; Ctrl-C stops all of it")
        ended = _watch(plan, cluster, signals.asked)
        _say("the cluster stops")
        for node_id in ended:
            cluster.kill(node_id)
        cluster.stop_nodes()
    return 1 if len(ended) == plan.nodes else 0


def _watch(plan: ClusterPlan, cluster: RunningCluster, stopping: threading.Event) -> set[int]:
    """Until it is told to stop, or no node is left; the nodes that have ended by themselves."""
    ended: set[int] = set()
    has_etcd = True
    while not stopping.wait(LOOK_S) and len(ended) < len(cluster.nodes):
        if has_etcd and not cluster.etcd.is_running:
            has_etcd = False
            _say(f"etcd has ended by itself; see {cluster.etcd.log_file}")
        for node_id, node in cluster.nodes.items():
            if node_id not in ended and not node.is_running:
                ended.add(node_id)
                _say(f"node {node_id} has ended by itself; {node.log_file} ends with:\n  {_last_line(node)}")
                _say(f"to start it again: {plan.start_command(node_id, cluster.etcd.url)}")
    return ended


def _last_line(node: RunningBroker) -> str:
    lines = node.log().strip().splitlines()
    return lines[-1] if lines else "(nothing)"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def settings_of(assignments: Sequence[str]) -> dict[str, str]:
    """`key=value` texts as settings; raises ValueError for one that is none."""
    settings = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"cannot read {text!r}: must be key=value")
        settings[name.strip()] = value.strip()
    return settings
