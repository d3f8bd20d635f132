"""A network of its own for a run: a namespace for each node, and one for clients and etcd, joined by a bridge.

Needs root and `ip`. A way from one node to another is cut by sending its packets to a hardware address that nobody has:
nothing comes back, as with a pulled cable. So each direction can be cut by itself.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CLONE_NEWNET = 0x40000000
SUBNET = "10.77.0"
HUB_HOST, ETCD_HOST = f"{SUBNET}.1", f"{SUBNET}.2"
NOBODY = "02:77:ff:ff:ff:ff"
BRIDGE = "chaos-hub"
SLOW_LINK = ("rate", "4mbit", "burst", "16kb", "latency", "500ms")


class Network:
    """Of the nodes with these numbers."""

    def __init__(self, node_ids: tuple[int, ...]) -> None:
        self.node_ids = node_ids
        self._names = {node_id: f"tidegate-chaos-{os.getpid()}-{node_id}" for node_id in node_ids}

    @staticmethod
    def host(node_id: int) -> str:
        """The address of a node."""
        return f"{SUBNET}.{10 + node_id}"

    def inside(self, node_id: int) -> tuple[str, ...]:
        """What a command line begins with to run where a node is."""
        return ("ip", "netns", "exec", self._names[node_id])

    def cut(self, source: int, target: str) -> None:
        """Nothing goes from a node to an address any more."""
        self._neighbour(source, target, NOBODY)

    def heal(self, source: int, target: str) -> None:
        """It does again."""
        self._neighbour(source, target, _hardware(target))

    def slow(self, node_id: int) -> None:
        """What leaves a node leaves slowly."""
        _do(*self.inside(node_id), "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *SLOW_LINK)

    def speed_up(self, node_id: int) -> None:
        """As fast as ever."""
        _do(*self.inside(node_id), "tc", "qdisc", "del", "dev", "eth0", "root")

    def _neighbour(self, node_id: int, target: str, hardware: str) -> None:
        neighbour = ("neigh", "replace", target, "lladdr", hardware, "dev", "eth0", "nud", "permanent")
        _do(*self.inside(node_id), "ip", *neighbour)

    # -- making it

    def make(self) -> None:
        """This process has a network of its own from now on; threads that run already do not."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "a network namespace cannot be made")
        _do("ip", "link", "set", "lo", "up")
        _do("ip", "link", "add", BRIDGE, "address", _hardware(HUB_HOST), "type", "bridge")
        for host in (HUB_HOST, ETCD_HOST):
            _do("ip", "addr", "add", f"{host}/24", "dev", BRIDGE)
        _do("ip", "link", "set", BRIDGE, "up")
        for node_id in self.node_ids:
            self._join(node_id)

    def _join(self, node_id: int) -> None:
        name, host = self._names[node_id], self.host(node_id)
        _do("ip", "netns", "add", name)
        peer = ("peer", "name", "eth0", "address", _hardware(host), "netns", name)
        _do("ip", "link", "add", f"node-{node_id}", "type", "veth", *peer)
        _do("ip", "link", "set", f"node-{node_id}", "master", BRIDGE, "up")
        _do("ip", "-n", name, "addr", "add", f"{host}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _do("ip", "-n", name, "link", "set", device, "up")
        _do("ip", "neigh", "replace", host, "lladdr", _hardware(host), "dev", BRIDGE, "nud", "permanent")
        others = (self.host(other) for other in self.node_ids if other != node_id)
        for target in (HUB_HOST, ETCD_HOST, *others):
            self.heal(node_id, target)

    def remove(self) -> None:
        """The namespaces of the nodes; this process's own goes with it."""
        for name in self._names.values():
            with suppress(subprocess.CalledProcessError):
                _do("ip", "netns", "delete", name)


@contextmanager
def network(node_ids: tuple[int, ...]) -> Iterator[Network | None]:
    """Where it can be made; None otherwise."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        yield None
        return
    made = Network(node_ids)
    try:
        try:
            made.make()
        except (OSError, subprocess.CalledProcessError) as error:
            raise RuntimeError(f"there can be no network for the run (--no-network goes without): {error}") from error
        yield made
    finally:
        made.remove()


def _hardware(host: str) -> str:
    last = int(host.rpartition(".")[2])
    # Clients and etcd are on one interface.
    return f"02:77:00:00:00:{1 if last < 10 else last:02x}"


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
