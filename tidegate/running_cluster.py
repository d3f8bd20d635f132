"""A cluster on this machine: an etcd, and nodes in processes of their own. For tests, and for `tidegate cluster run`.

Only the standard library is used: it runs in the programs of users, who may have packages of the same names as ours.
"""

import contextlib
import http.client
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol
from urllib.parse import urlsplit

from tidegate.etcd import RunningEtcd
from tidegate.testing import BrokerDidNotStart, BrokerDidNotStop, BrokerEnded, RunningBroker

ASK_AGAIN_S = 0.02
ANSWER_S = 1.0


class ClusterEtcd(Protocol):
    """An etcd that nodes can be told of."""

    @property
    def url(self) -> str:
        """Where it is; several members are separated by commas."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, as far as is known."""

    @property
    def log_file(self) -> Path | None:
        """Where it logs to, if it is ours."""

    def start(self) -> None:
        """Start it, if it is ours."""

    def stop(self) -> None:
        """Stop it, if it is ours."""


class EtcdElsewhere:
    """One that somebody else runs."""

    is_running = True
    log_file = None

    def __init__(self, url: str) -> None:
        self.url = url

    def start(self) -> None:
        """It runs."""

    def stop(self) -> None:
        """It goes on."""


class RunningCluster:
    """Nodes by their numbers. Each can be stopped, killed, paused and started again on its data and port."""

    def __init__(self, etcd: ClusterEtcd, nodes: Mapping[int, RunningBroker], timeout_s: float) -> None:
        self.etcd = etcd
        self.nodes = nodes
        self._timeout_s = timeout_s

    @classmethod
    def make(
        cls,
        directory: Path,
        nodes: int,
        config: Mapping[str, str],
        *,
        etcd: ClusterEtcd | None = None,
        own: Mapping[int, Mapping[str, str]] | None = None,
        racks: Sequence[str] = (),
        timeout_s: float = 30.0,
    ) -> "RunningCluster":
        """Of nodes whose data and logs lie in the directory. `own` is what single nodes are told besides."""
        directory.mkdir(parents=True, exist_ok=True)
        etcd = etcd or RunningEtcd(directory / "etcd")
        own = own or {node_id: {} for node_id in range(1, nodes + 1)}
        made = {}
        for place, (node_id, keys) in enumerate(own.items()):
            rack = {"broker.rack": racks[place % len(racks)]} if racks else {}
            told = {**config, **rack, **keys, "node.id": str(node_id), "etcd.endpoints": etcd.url}
            name = f"node-{node_id}"
            made[node_id] = RunningBroker(told, directory / name, directory / f"{name}.log", timeout_s)
        return cls(etcd, made, timeout_s)

    @property
    def bootstrap(self) -> str:
        """What a client takes as `bootstrap.servers`: all nodes."""
        return ",".join(node.bootstrap for node in self.nodes.values())

    def node(self, node_id: int) -> RunningBroker:
        """One of the nodes."""
        return self.nodes[node_id]

    def log(self) -> str:
        """What all nodes have logged so far."""
        return "\n".join(f"-- node {node_id}\n{node.log()}" for node_id, node in self.nodes.items())

    # -- single nodes

    def kill(self, node_id: int) -> None:
        """End a node at once, as a crash would."""
        self.nodes[node_id].kill()

    def stop(self, node_id: int) -> None:
        """End a node cleanly."""
        self.nodes[node_id].stop()

    def start(self, node_id: int) -> None:
        """Start a node that does not run, and wait until it is ready."""
        self.nodes[node_id].start()

    def restart(self, node_id: int) -> None:
        """Start a node again on the same data and port; one that runs is stopped cleanly before."""
        self.nodes[node_id].restart()

    def pause(self, node_id: int) -> None:
        """Have a node stand still, as a machine that hangs would."""
        self.nodes[node_id].pause()

    def resume(self, node_id: int) -> None:
        """Let it go on."""
        self.nodes[node_id].resume()

    # -- all of it

    def __enter__(self) -> "RunningCluster":
        try:
            self.etcd.start()
            self._start_nodes()
            self._wait_until_known()
        except BaseException:
            self.kill_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.stop_nodes()
        finally:
            self.kill_all()

    def stop_nodes(self) -> None:
        """All of them at once; raises why one could not be stopped cleanly."""
        failures: list[Exception] = []
        asked = [node.ask_to_stop for node in self.nodes.values()]
        for step in (*asked, *(node.wait_until_stopped for node in self.nodes.values())):
            try:
                step()
            except (BrokerEnded, BrokerDidNotStop) as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def kill_all(self) -> None:
        """The nodes at once, then etcd in good order."""
        for node in self.nodes.values():
            node.kill()
        self.etcd.stop()

    def _start_nodes(self) -> None:
        for node in self.nodes.values():
            node.begin()
        for node in self.nodes.values():
            node.wait_until_ready()

    def _wait_until_known(self) -> None:
        """Until every node knows of every other: from then on topics can be spread over all of them."""
        deadline = time.monotonic() + self._timeout_s
        for node_id, node in self.nodes.items():
            while node.has_door and not self._is_known_by(node.http_url):
                if time.monotonic() > deadline:
                    raise BrokerDidNotStart(f"node {node_id} does not know all others; it logged:\n{node.log()}")
                time.sleep(ASK_AGAIN_S)

    def _is_known_by(self, door: str) -> bool:
        known = _known(door)
        return known is None or set(self.nodes) <= known


def _known(door: str) -> set[int] | None:
    """The nodes that a node knows of, as its operations door tells; empty if that does not answer, None if it does not
    tell strangers."""
    connection = http.client.HTTPConnection(urlsplit(door).netloc, timeout=ANSWER_S)
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError, KeyError):
        try:
            connection.request("GET", "/cluster")
            response = connection.getresponse()
            if response.status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
                return None
            answer = json.loads(response.read())
            return {each["node_id"] for each in answer["nodes"]}
        finally:
            connection.close()
    return set()
