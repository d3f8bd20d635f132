"""Three nodes and an etcd for a run, and what is to be asked about them: who leads what, whether all are in sync."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from attrs import frozen
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from tools.chaos.disk import SmallDisk
from tools.chaos.network import ETCD_HOST, Network
from tools.chaos.processes import HOST, ChaosNode, EtcdMembers
from tools.reference.cluster import ReferenceNode, make_nodes

NODE_IDS = (1, 2, 3)
KAFKA_HEAP = "512m"
RACKS = {1: "a", 2: "b", 3: "c"}
ASK_S = 5.0
CONTROLLER_KEY = "/tidegate/entries/controller"
ASK_AGAIN_S = 0.2


class NotWhole(RuntimeError):
    """Replicas did not come back in time; the message names them."""


@frozen
class Standing:
    """What the cluster says of itself at one moment."""

    controller: int
    leaders: Mapping[tuple[str, int], int]
    behind: tuple[str, ...]
    """Partitions that have no leader or whose replicas are not all in sync, in words."""
    is_balanced: bool
    """Whether the first of the replicas leads, everywhere."""

    def led_by(self, node_id: int, topic: str) -> set[int]:
        """The partitions of a topic that a node leads."""
        return {index for (name, index), leader in self.leaders.items() if leader == node_id and name == topic}


class ChaosCluster:
    """Started and stopped as a whole by `with`; single nodes are handled by the faults."""

    def __init__(
        self,
        nodes: Mapping[int, ChaosNode | ReferenceNode],
        etcd: EtcdMembers,
        network: Network | None = None,
        disks: Mapping[int, SmallDisk] | None = None,
    ) -> None:
        self.nodes = nodes
        self.etcd = etcd
        self.network = network
        self.disks = disks or {}
        """Those that can be filled, by node."""
        self._admin: AdminClient | None = None

    @classmethod
    def of_kafka(cls, directory: Path) -> "ChaosCluster":
        """Apache Kafka's nodes, on loopback, for comparison."""
        return cls(make_nodes(directory, len(NODE_IDS), {}, KAFKA_HEAP), EtcdMembers(0, directory))

    @classmethod
    def make(
        cls,
        directory: Path,
        *,
        etcd_members: int = 1,
        settings: Mapping[str, str] | None = None,
        network: Network | None = None,
        disks: Mapping[int, SmallDisk] | None = None,
    ) -> "ChaosCluster":
        """In the network, or on loopback."""
        etcd = EtcdMembers(etcd_members, directory, HOST if network is None else ETCD_HOST)
        config = {**(settings or {}), "etcd.endpoints": etcd.urls}
        nodes = {}
        for number in NODE_IDS:
            host, inside = (HOST, ()) if network is None else (network.host(number), network.inside(number))
            # Nobody else reaches the network: whoever comes is one of the clients.
            own = {**config, "broker.rack": RACKS[number], "listener.allow.anonymous": "true"}
            nodes[number] = ChaosNode(number, own, directory, host=host, inside=inside)
        return cls(nodes, etcd, network, disks)

    def some_network(self) -> Network:
        """The one that there has to be."""
        assert self.network is not None, "this fault needs a network"
        return self.network

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def __enter__(self) -> "ChaosCluster":
        try:
            self.etcd.start()
            for node in self.nodes.values():
                node.begin()
            for node in self.nodes.values():
                node.wait_until_ready()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._kill()

    def _kill(self) -> None:
        for node in self.nodes.values():
            node.kill()
        self.etcd.kill()

    def controller(self) -> int:
        """The node that elects leaders; waits until there is one. Kafka tells any node."""
        if not self.etcd.members:
            return self.standing().controller
        deadline = time.monotonic() + ASK_S
        while (row := self.etcd.value(CONTROLLER_KEY)) is None:
            if time.monotonic() > deadline:
                raise NotWhole("there is no controller")
            time.sleep(ASK_AGAIN_S)
        return int(json.loads(row)["node_id"])

    def standing(self) -> Standing:
        """As some node that answers tells."""
        if self._admin is None:
            # One for the whole run: each has threads and connections of its own.
            settings = {"bootstrap.servers": self.bootstrap, "reconnect.backoff.max.ms": 200, "log_level": 0}
            self._admin = AdminClient(settings)
        return _standing(self._admin.list_topics(timeout=ASK_S))

    def wait_until_whole(self, timeout_s: float) -> float:
        """Until every replica of every partition is in sync again; how long that took."""
        began = time.monotonic()
        behind: tuple[str, ...] = ("nobody answers",)
        while time.monotonic() < began + timeout_s:
            try:
                behind = self.standing().behind
            except KafkaException as error:
                behind = (str(error),)
            if not behind:
                return time.monotonic() - began
            time.sleep(ASK_AGAIN_S)
        raise NotWhole(f"not in sync after {timeout_s:g} s: {', '.join(behind[:8])} ({len(behind)} in all)")

    def wait_until_balanced(self, timeout_s: float) -> bool:
        """Until the first replicas lead again, so that clients are connected to all nodes; whether they do in time."""
        deadline = time.monotonic() + timeout_s
        while not self.standing().is_balanced:
            if time.monotonic() > deadline:
                return False
            time.sleep(ASK_AGAIN_S)
        return True


def _standing(metadata: ClusterMetadata) -> Standing:
    leaders: dict[tuple[str, int], int] = {}
    behind = []
    is_balanced = True
    for name, topic in metadata.topics.items():
        for index, partition in topic.partitions.items():
            leaders[name, index] = partition.leader
            is_balanced = is_balanced and partition.leader == partition.replicas[0]
            if partition.leader < 0 or set(partition.isrs) != set(partition.replicas):
                behind.append(f"{name}-{index} (leader {partition.leader}, in sync {partition.isrs})")
    return Standing(metadata.controller_id, leaders, tuple(behind), is_balanced)
